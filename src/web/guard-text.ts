// Text that can be stored: nobody types a NUL character, and PostgreSQL neither keeps nor compares one. Refused here
// once, so that no page has to think of it.

import type { MiddlewareHandler } from "hono";
import type { WebContext, WebEnv } from "./env.ts";
import { answerError } from "./error-page.ts";

const NUL = "\u0000";
/** In the path and the query alike, both of which are decoded only once. */
const NUL_IN_ADDRESS = /%00/;

/** Before anything is looked for by what the address says. */
export const guardAddress: MiddlewareHandler<WebEnv> = async (c, next) =>
	NUL_IN_ADDRESS.test(c.req.url) ? answerError(c, "not_found") : next();

/** Of text and of files' names; what is in a file is left to whoever reads it. */
export async function hasNulInForm(c: WebContext): Promise<boolean> {
	const fields = Object.values(await c.req.parseBody({ all: true })).flat();
	return fields.some((field) => (typeof field === "string" ? field : field.name).includes(NUL));
}
