// Small choices of a person that outlive the page: which tab, which range. Never needed, so a browser without storage does without.

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(`weir.${name}`);
  } catch {
    return null;
  }
}

export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(`weir.${name}`, value);
  } catch {
    // see above
  }
}
