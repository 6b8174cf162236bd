// SPDX-License-Identifier: Apache-2.0
declare module 'virtual:packed' {
  export const LENGTH: number;
  export const BYTES: number;
  export const PACKED: string;
}
