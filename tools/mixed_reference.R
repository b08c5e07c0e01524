#!/usr/bin/env Rscript
# Reference numbers for mixed models: what lme4 and mgcv give for data of their own and of ours.
#
#     tools/mixed_reference.R        # writes crates/fedgrid/tests/laws/mixed/reference.json
#
# Optimisers of lme4 look at values only, which leaves variances with six digits at best. Two of them must
# therefore agree, and Newton's method on differences then finds the same minimum to some nine digits.
# Needs R with lme4, mgcv and jsonlite (Debian: r-cran-lme4, r-cran-mgcv, r-cran-jsonlite).

suppressPackageStartupMessages({
  library(lme4)
  library(mgcv)
  library(jsonlite)
})

# ---- Numbers that any computer draws alike ------------------------------------------------------------

state <- 3
uniform <- function(n) {
  # Park and Miller's generator: products stay below 2^53.
  vapply(seq_len(n), function(k) {
    state <<- (16807 * state) %% 2147483647
    state / 2147483647
  }, 0)
}
normal <- function(n) vapply(seq_len(n), function(k) sum(uniform(12)) - 6, 0)

# ---- Sets of rows -------------------------------------------------------------------------------------

# A set: features with an intercept first, the node of each row from zero, labels and weights.
rows_of <- function(from, node, features, labels, weights = rep(1, length(node))) {
  node <- factor(node)
  list(from = from, nodes = nlevels(node), node = as.integer(node) - 1L,
       features = unname(as.matrix(features)), labels = labels, weights = weights)
}

# Groups of the given sizes whose coefficients have the given mean and covariance.
drawn_set <- function(from, sizes, mean, spread, label, digits = 2) {
  group <- rep(seq_along(sizes), sizes)
  columns <- length(mean)
  features <- cbind(1, matrix(round(normal(length(group) * (columns - 1)), 2), length(group)))
  own <- t(mean + t(chol(spread + diag(1e-12, columns))) %*%
             matrix(normal(columns * length(sizes)), columns))
  predictor <- rowSums(features * own[group, , drop = FALSE])
  labels <- round(label(predictor), digits)
  rows_of(from, group, features, labels, sample_weights(length(group)))
}
sample_weights <- function(n) c(0.5, 1, 2, 3)[1 + floor(4 * uniform(n))]

own <- "drawn by tools/mixed_reference.R"
ticks <- within(grouseticks, { year96 <- 1 * (YEAR == 96); year97 <- 1 * (YEAR == 97) })
sets <- list(
  sleepstudy = rows_of("sleepstudy of lme4 (Belenky et al. 2003): reaction times by days without sleep",
                       sleepstudy$Subject, cbind(1, sleepstudy$Days), sleepstudy$Reaction),
  pastes = rows_of("Pastes of lme4 (Davies and Goldsmith 1972): strength of pastes by batch",
                   Pastes$batch, cbind(rep(1, nrow(Pastes))), Pastes$strength),
  plots = drawn_set(own, c(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 5, 3, 2, 8), c(3, -1, 0.5),
                    matrix(c(1, 0.4, -0.2, 0.4, 0.6, 0.1, -0.2, 0.1, 0.5), 3),
                    function(eta) eta + 0.7 * normal(length(eta))),
  flat = drawn_set(paste0(own, "; the slope is the same at all nodes"), c(5, 6, 7, 8, 9, 10, 6, 5), c(1, 2),
                   diag(c(0.5, 0)), function(eta) eta + normal(length(eta))),
  cbpp = rows_of("cbpp of lme4 (Lesnoff et al. 2004): shares of cattle with pleuropneumonia; weights are herd sizes",
                 cbpp$herd, model.matrix(~ period, cbpp), cbpp$incidence / cbpp$size, cbpp$size),
  grouseticks = rows_of("grouseticks of lme4 (Elston et al. 2001): ticks on the heads of grouse chicks by brood",
                        ticks$BROOD, cbind(1, ticks$year96, ticks$year97, round(ticks$cHEIGHT / 100, 4)),
                        ticks$TICKS),
  yes_no = drawn_set(own, c(3, 9, 14, 20, 8, 12, 15, 10, 16, 25, 1, 11, 13, 18, 9, 22), c(0.4, -0.8),
                     matrix(c(0.9, 0.4, 0.4, 1.2), 2),
                     function(eta) 1 * (uniform(length(eta)) < plogis(eta))),
  counts = drawn_set(own, c(2, 5, 7, 8, 6, 9, 4, 10, 5, 1, 12, 6, 7), c(0.8, 0.4),
                     matrix(c(0.4, 0.1, 0.1, 0.2), 2), function(eta) qpois(uniform(length(eta)), exp(eta)))
)

# ---- Linear models ------------------------------------------------------------------------------------

frame_of <- function(set) {
  frame <- data.frame(y = set$labels, g = factor(set$node), w = set$weights)
  for (k in seq_len(ncol(set$features) - 1)) frame[[paste0("x", k)]] <- set$features[, k + 1]
  frame
}

columns_of <- function(set) seq_len(ncol(sets[[set]]$features)) - 1

formula_of <- function(set, fixed, random, correlated) {
  names <- c("1", sprintf("x%d", seq_len(ncol(set$features) - 1)))
  sum_of <- function(columns) paste(names[columns], collapse = " + ")
  bar <- if (correlated) "|" else "||"
  as.formula(paste("y ~", sum_of(fixed + 1), "+ (", sum_of(random + 1), bar, "g)"))
}

# Derivatives by differences whose error is of fourth order.
derivative <- function(f, at, k, h = 1e-3) {
  e <- replace(numeric(length(at)), k, h)
  (8 * (f(at + e) - f(at - e)) - (f(at + 2 * e) - f(at - 2 * e))) / (12 * h)
}
gradient <- function(f, at) vapply(seq_along(at), function(k) derivative(f, at, k), 0)
polished <- function(f, at, free = rep(TRUE, length(at))) {
  inside <- function(part) f(replace(at, free, part))
  part <- at[free]
  for (step in 1:4) {
    hessian <- sapply(seq_along(part), function(k) {
      e <- replace(numeric(length(part)), k, 1e-3)
      (gradient(inside, part + e) - gradient(inside, part - e)) / 2e-3
    })
    part <- part - solve(hessian, gradient(inside, part))
  }
  replace(at, free, part)
}

# Deviations and the standard deviations of their errors, node by node.
deviations_of <- function(fit) {
  found <- ranef(fit, condVar = TRUE)[[1]]
  variances <- attr(found, "postVar")
  if (is.list(variances)) {
    errors <- sapply(variances, function(part) sqrt(part[1, 1, ]))
  } else {
    errors <- t(matrix(sqrt(apply(variances, 3, diag)), dim(variances)[1]))
  }
  list(modes = as.vector(t(as.matrix(found))), mode_errors = as.vector(t(errors)))
}

covariance_of <- function(fit) {
  parts <- VarCorr(fit)
  as.vector(as.matrix(Matrix::bdiag(lapply(parts, function(part) matrix(part, nrow(part))))))
}

close_to <- function(a, b, tolerance) {
  if (max(abs(a - b)) > tolerance * max(abs(c(a, b, 1e-3)))) {
    print(head(cbind(as.vector(a), as.vector(b)), 20))
    stop("these differ by ", max(abs(a - b)))
  }
}

linear <- function(name, set, random, correlated, restricted, weighted = FALSE, fixed = columns_of(set)) {
  frame <- frame_of(sets[[set]])
  if (!weighted) frame$w <- 1
  formula <- formula_of(sets[[set]], fixed, random, correlated)
  tight <- list(lmerControl(optimizer = "bobyqa", calc.derivs = FALSE,
                            optCtrl = list(rhoend = 1e-9, maxfun = 1e5)),
                lmerControl(optimizer = "nloptwrap", calc.derivs = FALSE,
                            optCtrl = list(xtol_abs = 1e-10, ftol_abs = 1e-12, maxeval = 1e5)))
  fits <- suppressMessages(lapply(tight, function(control)
    lmer(formula, frame, REML = restricted, weights = w, control = control)))
  theta <- getME(fits[[1]], "theta")
  close_to(theta, getME(fits[[2]], "theta"), 1e-3)

  parsed <- lFormula(formula, frame, REML = restricted, weights = w)
  deviance <- do.call(mkLmerDevfun, c(parsed, list(control = lmerControl())))
  free <- abs(theta) > 1e-4
  theta[!free] <- 0
  best <- polished(deviance, theta, free)
  close_to(theta, best, 1e-4)
  stopifnot(deviance(best) <= min(sapply(fits, function(fit) deviance(getME(fit, "theta")))) + 1e-9)
  value <- deviance(best)
  fit <- mkMerMod(environment(deviance), list(par = best, fval = value, conv = 0, feval = 1, message = ""),
                  parsed$reTrms, parsed$fr)
  c(list(name = name, set = set, fixed = fixed, random = random, correlated = correlated,
         restricted = restricted, weighted = weighted, mean = unname(fixef(fit)),
         mean_errors = unname(sqrt(diag(as.matrix(vcov(fit))))),
         noise = sigma(fit)^2, covariance = covariance_of(fit),
         # Weights are relative: their logarithms belong to no parameter.
         deviance = (if (restricted) REMLcrit(fit) else -2 * as.numeric(logLik(fit))) + sum(log(frame$w))),
    deviations_of(fit))
}

linear_cases <- list(
  linear("intercepts only", "pastes", 0, TRUE, TRUE),
  linear("sleep, uncorrelated, REML", "sleepstudy", 0:1, FALSE, TRUE),
  linear("sleep, uncorrelated, ML", "sleepstudy", 0:1, FALSE, FALSE),
  linear("sleep, correlated, REML", "sleepstudy", 0:1, TRUE, TRUE),
  linear("sleep, correlated, ML", "sleepstudy", 0:1, TRUE, FALSE),
  linear("three columns, uncorrelated, REML", "plots", 0:2, FALSE, TRUE),
  linear("three columns, correlated, REML", "plots", 0:2, TRUE, TRUE),
  linear("three columns, correlated, ML", "plots", 0:2, TRUE, FALSE),
  linear("two of three columns, weighted, correlated, REML", "plots", 0:1, TRUE, TRUE, TRUE),
  linear("three columns, weighted, uncorrelated, ML", "plots", 0:2, FALSE, FALSE, TRUE),
  linear("a column without a mean, REML", "plots", 0:2, FALSE, TRUE, fixed = 0:1),
  linear("a column without a mean, correlated, ML", "plots", 0:2, TRUE, FALSE, TRUE, fixed = c(0, 2)),
  linear("a variance of zero, REML", "flat", 0:1, FALSE, TRUE),
  linear("a variance of zero, ML", "flat", 0:1, FALSE, FALSE),
  linear("a correlation of minus one, REML", "flat", 0:1, TRUE, TRUE)
)
for (case in tail(linear_cases, 3)[1:2]) stopifnot(case$covariance[4] == 0)

# ---- Classes and counts by Laplace's approximation ------------------------------------------------------

approximate <- function(name, set, random, correlated, family, fixed = columns_of(set)) {
  frame <- frame_of(sets[[set]])
  # Weights of rows are numbers of trials here; those that were drawn are for linear models.
  if (set != "cbpp") frame$w <- 1
  formula <- formula_of(sets[[set]], fixed, random, correlated)
  tight <- list(glmerControl(optimizer = "bobyqa", calc.derivs = FALSE, tolPwrss = 1e-13,
                             optCtrl = list(rhoend = 1e-8, maxfun = 1e5)),
                glmerControl(optimizer = "nloptwrap", calc.derivs = FALSE, tolPwrss = 1e-13,
                             optCtrl = list(xtol_abs = 1e-9, ftol_abs = 1e-11, maxeval = 1e5)))
  fits <- suppressMessages(lapply(tight, function(control)
    glmer(formula, frame, family = family, weights = w, nAGQ = 1, control = control)))
  at <- lapply(fits, function(fit) c(getME(fit, "theta"), getME(fit, "beta")))
  close_to(at[[1]], at[[2]], 1e-2)

  parsed <- glFormula(formula, frame, family = family, weights = w)
  deviance <- do.call(mkGlmerDevfun, c(parsed, list(control = tight[[1]])))
  deviance(getME(fits[[1]], "theta"))
  deviance <- updateGlmerDevfun(deviance, parsed$reTrms)
  best <- polished(deviance, at[[1]])
  close_to(at[[1]], best, 1e-2)
  stopifnot(deviance(best) <= min(sapply(at, deviance)) + 1e-8)
  value <- deviance(best)
  fit <- mkMerMod(environment(deviance), list(par = best, fval = value, conv = 0, feval = 1, message = ""),
                  parsed$reTrms, parsed$fr)
  constant <- if (family == "binomial") lchoose(frame$w, round(frame$w * frame$y)) else -lgamma(frame$y + 1)
  c(list(name = name, set = set, fixed = fixed, random = random, correlated = correlated,
         family = if (family == "binomial") "classes" else "counts", weighted = set == "cbpp",
         mean = unname(fixef(fit)),
         # At the estimated variances, as the errors of deviations are.
         mean_errors = unname(sqrt(diag(as.matrix(vcov(fit, use.hessian = FALSE))))),
         covariance = covariance_of(fit), deviance = -2 * as.numeric(logLik(fit)) + 2 * sum(constant)),
    deviations_of(fit))
}

# The same approximation by its definition for any number of classes: at each node Newton's method for the
# mode, then the determinant; over all parameters a search that knows values only.
brute_force <- function(set, labels, classes, random, correlated, start) {
  d <- ncol(set$features)
  outputs <- classes - 1
  q <- length(random)
  designs <- lapply(seq_len(set$nodes) - 1, function(i) {
    own <- set$node == i
    list(x = kronecker(diag(outputs), set$features[own, , drop = FALSE]),
         y = as.vector(sapply(seq_len(outputs), function(c) 1 * (labels[own] == c))))
  })
  triangle <- which(lower.tri(diag(q), diag = TRUE) & (correlated | diag(q) == 1))
  factor_of <- function(par) {
    factor <- matrix(0, q, q)
    factor[triangle] <- par
    factor
  }
  at_node <- function(design, factor, mean) {
    z <- design$x[, random + 1, drop = FALSE] %*% factor
    rows <- nrow(design$x) / outputs
    predictors <- function(u) matrix(design$x %*% mean + z %*% u, rows)
    value <- function(u) {
      eta <- predictors(u)
      sum(u^2) - 2 * (sum(design$y * as.vector(eta)) - sum(log(1 + rowSums(exp(eta)))))
    }
    u <- numeric(q)
    for (step in 1:100) {
      p <- exp(predictors(u))
      p <- p / (1 + rowSums(p))
      weight <- diag(as.vector(p), rows * outputs)
      for (a in seq_len(outputs)) for (b in seq_len(outputs)) {
        at <- cbind((a - 1) * rows + seq_len(rows), (b - 1) * rows + seq_len(rows))
        weight[at] <- weight[at] - p[, a] * p[, b]
      }
      curvature <- t(z) %*% weight %*% z + diag(q)
      move <- as.vector(solve(curvature, t(z) %*% (design$y - as.vector(p)) - u))
      if (max(abs(move)) < 1e-12) break
      while (max(abs(move)) > 1e-6 && value(u + move) > value(u)) move <- move / 2
      u <- u + move
    }
    list(deviance = value(u) + as.numeric(determinant(curvature)$modulus),
         mode = as.vector(factor %*% u), covariance = factor %*% solve(curvature, t(factor)))
  }
  nodes <- function(par) {
    factor <- factor_of(par[seq_along(triangle)])
    mean <- par[-seq_along(triangle)]
    lapply(designs, at_node, factor, mean)
  }
  deviance <- function(par) sum(sapply(nodes(par), `[[`, "deviance"))
  found <- optim(start, deviance, method = "BFGS", control = list(reltol = 1e-12, maxit = 1000))
  best <- polished(deviance, found$par)
  close_to(found$par, best, 1e-2)
  factor <- factor_of(best[seq_along(triangle)])
  parts <- nodes(best)
  list(mean = best[-seq_along(triangle)], covariance = as.vector(factor %*% t(factor)),
       deviance = deviance(best), modes = unlist(lapply(parts, `[[`, "mode")),
       mode_errors = unlist(lapply(parts, function(part) sqrt(diag(part$covariance)))))
}

laplace_cases <- list(
  approximate("cattle", "cbpp", 0, TRUE, "binomial"),
  approximate("yes or no, uncorrelated", "yes_no", 0:1, FALSE, "binomial"),
  approximate("yes or no, correlated", "yes_no", 0:1, TRUE, "binomial"),
  approximate("ticks", "grouseticks", 0, TRUE, "poisson"),
  approximate("counts, uncorrelated", "counts", 0:1, FALSE, "poisson"),
  approximate("counts, correlated", "counts", 0:1, TRUE, "poisson"),
  approximate("yes or no, a column without a mean", "yes_no", 0:1, FALSE, "binomial", fixed = 0),
  approximate("counts, a column without a mean", "counts", 0:1, TRUE, "poisson", fixed = 0)
)

# What is written above gives what glmer gives for two classes, and is trusted with three.
check <- brute_force(sets$yes_no, sets$yes_no$labels, 2, 0:1, TRUE, c(0.8, 0.2, 0.6, 0.4, -0.8))
for (part in names(check)) close_to(check[[part]], laplace_cases[[3]][[part]], 1e-4)

state <- 1
group <- rep(1:18, c(6, 9, 14, 12, 8, 12, 15, 10, 16, 11, 1, 11, 13, 18, 9, 12, 7, 10))
x <- round(normal(length(group)), 2)
shift <- t(t(chol(matrix(c(0.9, 0.4, 0.4, 0.7), 2))) %*% matrix(normal(36), 2))
first <- exp(0.3 + (0.9 + normal(18)[group]) * x + shift[group, 1])
second <- exp(-0.2 - 0.5 * x + shift[group, 2])
drawn <- uniform(length(group)) * (1 + first + second)
sets$three <- rows_of(paste0(own, "; labels are classes"), group, cbind(1, x),
                      ifelse(drawn < 1, 0, ifelse(drawn < 1 + first, 1, 2)))
three <- function(name, random, correlated, start) {
  c(list(name = name, set = "three", fixed = 0:3, random = random, correlated = correlated, classes = 3),
    brute_force(sets$three, sets$three$labels, 3, random, correlated, start))
}
class_cases <- list(
  three("intercepts, correlated", c(0, 2), TRUE, c(0.8, 0.3, 0.7, 0.3, 0.9, -0.2, -0.5)),
  three("intercepts and a slope, uncorrelated", c(0, 1, 2), FALSE, c(0.8, 0.3, 0.7, 0.3, 0.9, -0.2, -0.5))
)

# ---- Along a network ------------------------------------------------------------------------------------

laplacian_of <- function(nodes, edges) {
  laplacian <- matrix(0, nodes, nodes)
  for (row in seq_len(nrow(edges))) {
    a <- edges[row, 1] + 1
    b <- edges[row, 2] + 1
    laplacian[c(a, b), c(a, b)] <- laplacian[c(a, b), c(a, b)] + edges[row, 3] * matrix(c(1, -1, -1, 1), 2)
  }
  laplacian
}
omega_of <- function(laplacian, rho) {
  rho * laplacian / mean(diag(laplacian)) + (1 - rho) * diag(nrow(laplacian))
}

# The model of all coefficients with one penalty matrix for each random column. Strengths are 1/T²; those
# below zero are estimated.
along <- function(name, set, edges, random, rho, strengths = rep(-1, length(random)), fixed = columns_of(set)) {
  rows <- sets[[set]]
  n <- rows$nodes
  d <- ncol(rows$features)
  p <- length(fixed)
  omega <- omega_of(laplacian_of(n, edges), rho)
  indicator <- 1 * outer(rows$node, seq_len(n) - 1, `==`)
  design <- do.call(cbind, c(list(rows$features[, fixed + 1]), lapply(random, function(k) indicator * rows$features[, k + 1])))
  penalties <- lapply(seq_along(random), function(place) {
    penalty <- matrix(0, ncol(design), ncol(design))
    own <- p + (place - 1) * n + seq_len(n)
    penalty[own, own] <- omega
    penalty
  })
  y <- rows$labels
  # It warns where rounding ends the search; what it found is checked below.
  fit <- suppressWarnings(gam(y ~ 0 + design, paraPen = list(design = c(penalties, list(sp = strengths))),
                              method = "REML", control = gam.control(newton = list(conv.tol = 1e-9))))
  if (all(strengths < 0)) strengths <- unname(fit$sp)
  # Coefficients of node i are those of all nodes and its own deviations.
  at_node <- function(i) {
    select <- matrix(0, d, ncol(design))
    select[cbind(fixed + 1, seq_len(p))] <- 1
    for (place in seq_along(random)) select[random[place] + 1, p + (place - 1) * n + i] <- 1
    list(coefficients = as.vector(select %*% coef(fit)),
         covariance = as.vector(select %*% fit$Vp %*% t(select)) * fit$reml.scale / fit$sig2)
  }
  parts <- lapply(seq_len(n), at_node)
  # By the definition, once, so that nothing that mgcv rescales goes unseen.
  penalty <- Reduce(`+`, Map(`*`, strengths, penalties))
  system <- crossprod(design) + penalty
  w <- solve(system, crossprod(design, y))
  close_to(coef(fit), w, 1e-7)
  close_to(fit$Vp / fit$sig2, solve(system), 1e-7)
  close_to(fit$reml.scale, (sum((y - design %*% w)^2) + sum(w * (penalty %*% w))) / (length(y) - p), 1e-7)
  list(name = name, set = set, fixed = fixed, edges = edges, random = random, rho = rho, strengths = strengths,
       estimated = "nothing",
       mean = unname(coef(fit)[seq_len(p)]), noise = fit$reml.scale, deviance = 2 * as.numeric(fit$gcv.ubre),
       coefficients = unlist(lapply(parts, `[[`, "coefficients")),
       coefficient_covariances = unlist(lapply(parts, `[[`, "covariance")))
}

# Strengths, and ρ where it is not given, where the criterion is least.
estimated <- function(name, set, edges, random, rho = NULL, fixed = columns_of(set)) {
  at <- function(eta, ...) along(name, set, edges, random, 1 - exp(-eta), fixed = fixed, ...)
  eta <- if (is.null(rho)) optimise(function(eta) at(eta)$deviance, c(0.2, 8))$minimum else -log(1 - rho)
  start <- c(eta, log(at(eta)$strengths))
  best <- polished(function(par) at(par[1], exp(par[-1]))$deviance, start, c(is.null(rho), random >= 0))
  close_to(start, best, 1e-2)
  found <- at(best[1], exp(best[-1]))
  found$estimated <- if (is.null(rho)) "all" else "strengths"
  found
}

# The same fit with Markov random fields. Fields rescale their penalties, and centre a field whose variable is
# constant: rows are multiplied by one or two, which their weights undo.
field <- function(case) {
  rows <- sets[[case$set]]
  names <- as.character(seq_len(rows$nodes))
  omega <- omega_of(laplacian_of(rows$nodes, case$edges), case$rho)
  dimnames(omega) <- list(names, names)
  times <- rep(1:2, length.out = length(rows$node))
  frame <- data.frame(y = times * rows$labels, node = factor(names[rows$node + 1], levels = names))
  columns <- paste0("v", seq_len(ncol(rows$features)))
  frame[columns] <- times * rows$features
  smooths <- sprintf("s(node, bs = \"mrf\", by = %s, k = %d, xt = list(penalty = omega))",
                     columns[case$random + 1], rows$nodes)
  formula <- as.formula(paste("y ~ 0 +", paste(c(columns[case$fixed + 1], smooths), collapse = " + ")))
  environment(formula) <- environment()
  weights <- 1 / times^2
  prepared <- gam(formula, data = frame, weights = weights, fit = FALSE)
  scales <- sapply(prepared$smooth, function(smooth) smooth$S.scale)
  fit <- gam(formula, data = frame, weights = weights, sp = case$strengths * scales)
  own <- matrix(case$coefficients, ncol = rows$nodes)
  expected <- rowSums(rows$features * t(own)[rows$node + 1, , drop = FALSE])
  close_to(fitted(fit) / times, expected, 1e-7)
}

state <- 6
nodes <- 12
ring <- rbind(cbind(0:(nodes - 1), c(1:(nodes - 1), 0), c(1, 2)), c(0, 6, 0.5))
group <- rep(seq_len(nodes), c(4, 1, 6, 3, 5, 2, 7, 4, 3, 6, 2, 5))
x <- round(normal(length(group)), 2)
upper <- chol(omega_of(laplacian_of(nodes, ring), 0.97))
intercepts <- 1 + 0.5 * backsolve(upper, normal(nodes))
slopes <- 2 + 0.3 * backsolve(upper, normal(nodes))
sets$ring <- rows_of(paste0(own, " along a ring of unequal weights with a chord"), group, cbind(1, x),
                     round(intercepts[group] + slopes[group] * x + 0.5 * normal(length(group)), 2))
subjects <- cbind(0:17, c(1:17, 0), 1)
network_cases <- list(
  along("ring", "ring", ring, 0:1, 0.8, c(0.7, 1.9)),
  along("ring, almost intrinsic", "ring", ring, 0:1, 0.999, c(0.2, 0.5)),
  along("ring, slopes only", "ring", ring, 1, 0.5, 0.3),
  along("ring, a column without a mean", "ring", ring, 0:1, 0.8, c(0.7, 0.1), fixed = 0),
  along("sleep, along a ring that means nothing", "sleepstudy", subjects, 0:1, 0.6, c(1, 20)),
  estimated("ring, strengths estimated", "ring", ring, 0:1, 0.5),
  estimated("sleep, strengths estimated", "sleepstudy", subjects, 0:1, 0.3),
  estimated("ring, all estimated", "ring", ring, 0:1),
  estimated("ring, slopes without a mean, strengths estimated", "ring", ring, 0:1, 0.9, fixed = 0)
)
for (case in network_cases) field(case)

# ---- All of it ------------------------------------------------------------------------------------------

root <- dirname(dirname(normalizePath(sub("--file=", "", grep("--file=", commandArgs(), value = TRUE)))))
versions <- sapply(c("lme4", "mgcv"), function(name) as.character(packageVersion(name)))
reference <- list(made_by = as.list(c(R = paste(R.version$major, R.version$minor, sep = "."), versions)),
                  sets = sets, linear = linear_cases, laplace = laplace_cases, classes = class_cases,
                  network = network_cases)
# One line for each set and each case.
vectors <- c("fixed", "random", "mean", "mean_errors", "covariance", "strengths")
lines <- function(parts) {
  one <- function(part) {
    # A list of one number remains a list.
    for (name in intersect(vectors, names(part))) part[[name]] <- I(part[[name]])
    toJSON(part, auto_unbox = TRUE, digits = I(11))
  }
  body <- sapply(parts, one)
  if (!is.null(names(parts))) {
    return(paste0("{\n", paste0("\"", names(parts), "\": ", body, collapse = ",\n"), "\n}"))
  }
  paste0("[\n", paste0(body, collapse = ",\n"), "\n]")
}
parts <- sapply(names(reference), function(name) paste0("\"", name, "\": ", lines(reference[[name]])))
writeLines(paste0("{", paste(parts, collapse = ",\n"), "}"),
           file.path(root, "crates/fedgrid/tests/laws/mixed/reference.json"))
