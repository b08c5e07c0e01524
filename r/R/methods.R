# What is asked of a run.

print.fedgrid <- function(x, ...) {
  cat("fedgrid: ", x$target, " by ", paste(x$features, collapse = " + "), ", a model for each ", x$node, "\n\n", sep = "")
  print(signif(x$errors$errors, 4))
  cat("\n", x$errors$metric, "; verdict: ", x$errors$verdict, "; predicted by: ", x$errors$advised, "\n", sep = "")
  invisible(x)
}

summary.fedgrid <- function(object, ...) {
  structure(list(lines = ask(c("show", object$folder))), class = "summary.fedgrid")
}

print.summary.fedgrid <- function(x, ...) {
  cat(x$lines, sep = "\n")
  invisible(x)
}

coef.fedgrid <- function(object, standard_errors = FALSE, ...) {
  path <- file.path(object$folder, "coefficients.csv")
  if (!file.exists(path)) stop("the models of this run have no coefficients", call. = FALSE)
  long <- read_lines_of_csv(readLines(path, encoding = "UTF-8"))
  column <- if (standard_errors) "standard_error" else "value"
  name <- if (is.null(long$class)) long$coefficient else paste(long$class, long$coefficient, sep = ":")
  nodes <- unique(long$node)
  names <- unique(name)
  wide <- matrix(NA_real_, length(nodes), length(names), dimnames = list(nodes, names))
  wide[cbind(match(long$node, nodes), match(name, names))] <- as.numeric(long[[column]])
  wide
}

predict.fedgrid <- function(object, newdata, interval = NULL, explain = FALSE, use = NULL, unknown = NULL, ...) {
  table <- write_table(as.data.frame(newdata), tempfile("fedgrid-new-", fileext = ".csv"))
  on.exit(unlink(table))
  arguments <- c("predict", object$folder, "--data", table, "--as", "csv")
  if (!is.null(interval)) arguments <- c(arguments, "--interval", format(interval, digits = 17))
  if (explain) arguments <- c(arguments, "--explain")
  if (!is.null(use)) arguments <- c(arguments, "--use", use)
  if (!is.null(unknown)) arguments <- c(arguments, "--unknown", unknown)
  found <- read_lines_of_csv(ask(arguments))
  text <- c(object$node, "by")
  for (column in setdiff(names(found), text)) {
    numbers <- suppressWarnings(as.numeric(found[[column]]))
    # Predicted classes stay text.
    if (all(is.na(found[[column]]) | !is.na(numbers))) found[[column]] <- numbers
  }
  found
}

plot.fedgrid <- function(x, ...) {
  errors <- rev(x$errors$errors)
  before <- par(mar = c(4, 6, 2, 4))
  on.exit(par(before))
  colours <- ifelse(names(errors) == "network", "#0a63ac", "#9aa3ad")
  at <- barplot(errors, horiz = TRUE, las = 1, col = colours, border = NA, xlab = x$errors$metric, xlim = c(0, 1.15 * max(errors)), ...)
  text(errors, at, labels = signif(errors, 3), pos = 4, xpd = NA)
  invisible(at)
}
