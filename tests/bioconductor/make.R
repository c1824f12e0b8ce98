# Makes the files beside it, once: Rscript make.R (R 4.2, Debian's r-bioc-biobase, r-bioc-singlecellexperiment).
suppressMessages({
  library(Biobase)
  library(SingleCellExperiment)
  library(DelayedArray)
  library(Matrix)
})

values <- outer(1:6, 1:5, function(gene, sample) gene + sample / 8)
values[4:6, 4:5] <- values[4:6, 4:5] + 16
values[1:3, 1:2] <- 0
dimnames(values) <- list(paste0("gene", 1:6), paste0("s", 1:5))
samples <- data.frame(
  type = factor(c("tumour", "tumour", "tumour", "normal", "normal")), age = c(50L, NA, 47L, 66L, 58L),
  site = c("Z\u00fcrich", NA, "Rome", "Rome", "Oslo"), row.names = colnames(values)
)
genes <- data.frame(symbol = paste0("SYM", 1:6), row.names = rownames(values))
sparse <- as(Matrix(values, sparse = TRUE), "CsparseMatrix")

eset <- ExpressionSet(values, AnnotatedDataFrame(samples), AnnotatedDataFrame(genes))
se <- SummarizedExperiment(list(counts = values * 8, logcounts = values), rowData = genes, colData = samples)
sce <- SingleCellExperiment(list(logcounts = sparse), rowData = genes, colData = samples)
bare <- SummarizedExperiment(list(logcounts = unname(values)), colData = samples)
ranged <- SummarizedExperiment(
  list(logcounts = values), colData = samples,
  rowRanges = GRanges("chr1", IRanges(1:6 * 100, width = 50), symbol = genes$symbol)
)
delayed <- SummarizedExperiment(list(logcounts = DelayedArray(values) + 1), colData = samples)

saveRDS(eset, "ExpressionSet.rds")
saveRDS(se, "SummarizedExperiment.rds")
saveRDS(sce, "SingleCellExperiment.rds")
saveRDS(bare, "without-names.rds")
saveRDS(ranged, "RangedSummarizedExperiment.rds")
saveRDS(sparse, "dgCMatrix.rds")
saveRDS(delayed, "delayed.rds")
saveRDS(rowRanges(ranged), "GRanges.rds")
save(sce, samples, file = "SingleCellExperiment.RData")
save(eset, se, file = "several.rda")

errors <- ExpressionSet(assayDataNew(exprs = values, se.exprs = values / 10), AnnotatedDataFrame(samples), AnnotatedDataFrame(genes))
saveRDS(errors, "with-errors.rds")
frames <- samples[5:1, ]
save(values, frames, genes, file = "matrix-and-frames.RData")
