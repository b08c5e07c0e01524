# A random intercept and slope by lme4: seconds, the variance of errors, both variances, their covariance.
suppressMessages(library(lme4))
rows <- read.csv(commandArgs(trailingOnly = TRUE)[1])
rows$group <- factor(rows$group)
begun <- proc.time()[["elapsed"]]
fit <- lmer(y ~ x + (1 + x | group), data = rows)
seconds <- proc.time()[["elapsed"]] - begun
spread <- as.matrix(VarCorr(fit)$group)
cat(format(c(seconds, sigma(fit)^2, spread[1, 1], spread[2, 2], spread[1, 2]), digits = 12), "\n")
