/** What the build makes of files that are no scripts. */

declare module '*.css';
declare module '*.svg' {
  /** Address of the picture. */
  const address: string;
  export default address;
}
