# Calls of the command `fedgrid`.

#' @noRd
fedgrid_command <- function() {
  named <- getOption("fedgrid.command", Sys.getenv("FEDGRID", ""))
  found <- if (nzchar(named)) named else unname(Sys.which("fedgrid"))
  if (!nzchar(found) || !file.exists(found)) {
    stop("the command 'fedgrid' is not found: install it with cargo, or name it in the variable FEDGRID or ",
         "in options(fedgrid.command = \"...\")", call. = FALSE)
  }
  normalizePath(found)
}

# What the command prints; its own sentence is the error.
ask <- function(arguments) {
  said <- tempfile("fedgrid-said-")
  on.exit(unlink(said))
  out <- suppressWarnings(system2(fedgrid_command(), shQuote(arguments), stdout = TRUE, stderr = said))
  status <- attr(out, "status")
  if (!is.null(status) && status != 0) {
    lines <- readLines(said, warn = FALSE, encoding = "UTF-8")
    stop(sub("^fedgrid: ", "", paste(utils::tail(lines[nzchar(lines)], 3), collapse = "\n")), call. = FALSE)
  }
  Encoding(out) <- "UTF-8"
  as.character(out)
}

# A frame as a table of the command. Numbers have all their digits, factors their names.
write_table <- function(frame, path) {
  is_number <- vapply(frame, function(column) is.numeric(column) && !is.factor(column), logical(1))
  frame[is_number] <- lapply(frame[is_number], function(x) ifelse(is.na(x), "", format(x, digits = 17, trim = TRUE)))
  frame[!is_number] <- lapply(frame[!is_number], as.character)
  write.csv(frame, path, row.names = FALSE, na = "", fileEncoding = "UTF-8")
  path
}

read_lines_of_csv <- function(lines) {
  # Names of nodes such as 007 stay text; columns of numbers become numbers below.
  frame <- read.csv(text = lines, check.names = FALSE, colClasses = "character", encoding = "UTF-8", na.strings = "")
  frame
}

as_numbers <- function(frame, columns) {
  frame[columns] <- lapply(frame[columns], as.numeric)
  frame
}
