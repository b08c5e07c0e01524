# Laws: the package says what the command says. Without the command there is nothing to try.
if (!nzchar(Sys.which("fedgrid")) && !nzchar(Sys.getenv("FEDGRID"))) {
  cat("skipped: the command fedgrid is not here\n")
  quit(save = "no")
}
library(fedgrid)

set.seed(1)
node <- rep(sprintf("%03d", 1:8), each = 16)
rows <- data.frame(node, x = rnorm(128), kind = factor(sample(c("a", "b"), 128, TRUE)), stringsAsFactors = FALSE)
rows$y <- as.numeric(node) + 2 * rows$x + (rows$kind == "b") + 0.1 * rnorm(128)
rows$part <- rep(c("train", "train", "val", "test"), 32)
edges <- data.frame(src = sprintf("%03d", 1:7), dst = sprintf("%03d", 2:8))

run <- fit(y ~ x + kind | node, rows, edges, split = "part", method = "gtv", quick = TRUE)
print(run)
stopifnot(inherits(run, "fedgrid"), run$errors$errors[["network"]] < run$errors$errors[["pooled"]])

# Coefficients are the truth, and their names have kept their zeros.
found <- coef(run)
stopifnot(identical(rownames(found), sprintf("%03d", 1:8)), abs(mean(found[, "x"]) - 2) < 0.1)

# A prediction is what its coefficients say, to the last digits.
new <- data.frame(node = c("001", "008"), x = c(0.5, -0.5), kind = "a")
predicted <- predict(run, new, interval = 0.9, use = "network")
by_hand <- found[new$node, "intercept"] + found[new$node, "x"] * new$x
if ("kind=a" %in% colnames(found)) by_hand <- by_hand + found[new$node, "kind=a"]
stopifnot(max(abs(predicted$prediction - by_hand)) < 1e-9, predicted$lower < predicted$prediction)
stopifnot(identical(predicted$node, new$node))

# The same experiment gives the same bits.
again <- fit(y ~ x + kind | node, rows, edges, split = "part", method = "gtv", quick = TRUE)
stopifnot(identical(coef(again), found))

# Classes have probabilities that add up to one.
rows$high <- ifelse(rows$y > 5, "yes", "no")
classes <- fit(high ~ x | node, rows, "ring", split = "part", quick = TRUE)
probability <- predict(classes, rows[1:5, ])
stopifnot(abs(probability$probability_no + probability$probability_yes - 1) < 1e-9, is.character(probability$prediction))

# Summary and plot.
stopifnot(any(grepl("pooled", summary(run)$lines)))
grDevices::pdf(NULL)
plot(run)
invisible(grDevices::dev.off())

# What is wrong is said by the command, in its words, or before it is asked.
refused <- function(call) conditionMessage(tryCatch(call, error = identity))
stopifnot(grepl("names no node", refused(fit(y ~ x, rows))))
stopifnot(grepl("'none'", refused(fit(none ~ x | node, rows))))
stopifnot(grepl("log", refused(fit(y ~ log(x) | node, rows))))
stopifnot(grepl("alpa", refused(fit(y ~ x | node, rows, set = list(method.alpa = 1)))))
stopifnot(grepl("--unknown|nodes|node", refused(predict(run, data.frame(node = "999", x = 1, kind = "a"), unknown = "refuse"))))
