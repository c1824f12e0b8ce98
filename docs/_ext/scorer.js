// In which order the search lists what it finds: tasks before options and parts of classes. The numbers are those of
// Sphinx; only `score` is ours.
var Scorer = {
  objNameMatch: 11, objPartialMatch: 6, objPrio: { 0: 15, 1: 5, 2: -5 }, objPrioDefault: 0,
  title: 15, partialTitle: 7, term: 5, partialTerm: 2,
  score: ([page, , , kind, score]) =>
    score + (page.startsWith("tasks/") ? 6 : 0) - (/^(program option|Python (attribute|method|property))/.test(kind) ? 10 : 0),
};
