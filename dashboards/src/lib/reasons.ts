// Why hits are refused, in words for a person (docs/interfaces.md, "What was not taken").
const words: Record<string, string> = {
  'unknown-site': 'Named a site that is not here',
  'unknown-link': 'Asked for a short link that is not here, or is over',
  invalid: 'A field was missing or wrong',
  'not-json': 'Not JSON',
  'not-utf8': 'Not text',
  'too-large': 'Too large',
  'content-type': 'Of a type that is not taken',
  unauthorized: 'Without a token that allows it',
  future: "Dated in the future: the sender's clock is ahead",
  'no-hit': 'Told of no hit',
  rate: 'Too many at once from one sender or for one site',
  'bad-line': 'A line of a log that is no hit',
  'queue-full': 'weir was too busy; the sender was told to come again',
  'not-written': 'The log did not take it; the sender was told to come again',
  'write-unknown': 'Not known whether the log took it; the sender was told to come again',
};

export const reasonOf = (reason: string): string => words[reason] ?? 'Refused';
