// Runs before the first paint, so that a chosen theme does not flash in the other one. The choice itself is made in src/lib/theme.svelte.ts.
try {
  var theme = localStorage.getItem('weir.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch (e) {}
