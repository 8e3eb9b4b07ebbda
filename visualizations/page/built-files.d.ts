/** Types of imported files that are not scripts. */

declare module '*.css';
declare module '*.css?inline' {
  const text: string;
  export default text;
}
declare module '*.svg' {
  /** Address of the picture. */
  const address: string;
  export default address;
}
