# A run of the command, from a formula and a frame.

fit <- function(formula, data, network = "none", ..., nearest = NULL, coordinates = NULL, method = NULL, model = NULL,
                split = NULL, seed = NULL, set = list(), quick = FALSE, folder = tempfile("fedgrid-run-")) {
  if (length(list(...)) > 0) {
    stop("unknown argument: ", paste(names(list(...)), collapse = ", "), "; keys of an experiment go into set = list()", call. = FALSE)
  }
  parts <- parts_of(formula, data)
  work <- tempfile("fedgrid-")
  dir.create(work)
  columns <- unique(c(parts$node, parts$target, parts$features, split))
  missing <- setdiff(columns, names(data))
  if (length(missing) > 0) stop("data has no column ", paste(sQuote(missing, FALSE), collapse = ", "), call. = FALSE)
  table <- write_table(as.data.frame(data)[columns], file.path(work, "rows.csv"))
  arguments <- c("fit", "--data", table, "--node", parts$node, "--target", parts$target,
                 "--features", paste(parts$features, collapse = ","), "--out", folder)
  if (!is.null(split)) arguments <- c(arguments, "--split", split)
  if (!is.null(method)) arguments <- c(arguments, "--method", method)
  if (!is.null(model)) arguments <- c(arguments, "--model", model)
  if (!is.null(seed)) arguments <- c(arguments, "--seed", format(seed))
  if (quick) arguments <- c(arguments, "--quick")
  if (is.factor(data[[parts$target]]) || is.character(data[[parts$target]]) || is.logical(data[[parts$target]])) {
    arguments <- c(arguments, "--task", "classification")
  }
  arguments <- c(arguments, network_flags(network, nearest, coordinates, work))
  for (key in names(set)) arguments <- c(arguments, "--set", paste0(key, "=", set[[key]]))
  said <- ask(arguments)
  structure(
    list(folder = normalizePath(folder), node = parts$node, target = parts$target, features = parts$features,
         said = said, call = match.call(), errors = errors_of(folder)),
    class = "fedgrid"
  )
}

# `y ~ x1 + x2 | node`: the columns of a formula. `.` is every column that is something else.
parts_of <- function(formula, data) {
  if (!inherits(formula, "formula") || length(formula) != 3) stop("formula is no 'y ~ x1 + x2 | node'", call. = FALSE)
  right <- formula[[3]]
  if (!is.call(right) || !identical(right[[1]], as.name("|"))) {
    stop("formula names no node: y ~ x1 + x2 | node", call. = FALSE)
  }
  if (!is.name(formula[[2]])) stop("the target is no column: transform it in the data", call. = FALSE)
  target <- as.character(formula[[2]])
  node <- all.vars(right[[3]])
  if (length(node) != 1) stop("behind | stands one column, that of the node", call. = FALSE)
  words <- all.names(right[[2]], functions = TRUE)
  other <- setdiff(words, c("+", "(", all.vars(right[[2]])))
  if (length(other) > 0) {
    stop("features are columns joined by +; make ", sQuote(other[[1]], FALSE), " a column of the data", call. = FALSE)
  }
  features <- all.vars(right[[2]])
  if ("." %in% features) features <- setdiff(names(data), c(target, node))
  list(target = target, node = node, features = features)
}

network_flags <- function(network, nearest, coordinates, work) {
  if (is.character(network) && length(network) == 1) {
    return(if (network == "learn") "--learn" else c("--shape", network))
  }
  if (!is.data.frame(network)) {
    stop("network is no name of a shape, no frame with src and dst, and no frame of nodes", call. = FALSE)
  }
  if (all(c("src", "dst") %in% names(network))) {
    return(c("--edges", write_table(network, file.path(work, "edges.csv"))))
  }
  if (is.null(coordinates)) {
    stop("network has no columns src and dst; a frame of nodes needs coordinates = c(column = length per unit)", call. = FALSE)
  }
  places <- paste0(names(coordinates), "=", format(unname(coordinates), digits = 17, trim = TRUE), collapse = ",")
  c("--nodes", write_table(network, file.path(work, "nodes.csv")),
    "--nearest", format(if (is.null(nearest)) 8 else nearest), "--coordinates", places)
}

# The errors of all methods with all their digits: one row of `compare`, which puts two different runs side by side. R reads no
# JSON without another package, and this needs none.
errors_of <- function(folder) {
  beside <- tempfile("fedgrid-beside-")
  dir.create(beside)
  on.exit(unlink(beside, recursive = TRUE))
  file.copy(list.files(folder, full.names = TRUE), beside, recursive = TRUE)
  row <- read_lines_of_csv(ask(c("compare", folder, beside, "--as", "csv")))[1, ]
  methods <- intersect(c("local", "pooled", "shrunk", "mixed", "network", "shuffled"), names(row))
  errors <- unlist(as_numbers(row, methods)[methods])
  list(errors = errors[!is.na(errors)], metric = row$metric, method = row$method, verdict = row$verdict, advised = row$advised)
}
