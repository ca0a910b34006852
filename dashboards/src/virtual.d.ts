// The map drawn by scripts/world.mjs: a country is its ISO code (empty for areas without one) and either an outline in tenths, or 0 and
// the place of a dot.
declare module 'virtual:world' {
  const world: { width: number; height: number; countries: ([code: string, outline: string] | [code: string, dot: 0, x: number, y: number])[] };
  export default world;
}
