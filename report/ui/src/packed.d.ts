declare module 'virtual:packed' {
  export const LENGTH: number;
  export const PACKED: string;
}
