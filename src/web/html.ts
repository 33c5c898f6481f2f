// What a piece of page is: markup whose every inserted value has been escaped.

import type { html } from "hono/html";

export type Html = ReturnType<typeof html>;

/** What may stand between two pieces: markup, text to be escaped, or nothing. */
export type Content = Html | string | null | readonly Content[];
