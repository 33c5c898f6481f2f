// Forms that only our own pages can send: the right token, and nothing that says it came from another site. And text
// that can be stored: nobody types a NUL character, and PostgreSQL neither keeps nor compares one.

import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { CSRF_FIELD } from "./csrf.ts";
import type { WebDeps } from "./deps.ts";
import type { WebContext, WebEnv } from "./env.ts";
import { answerError } from "./error-page.ts";
import type { FileBounds } from "./receive-file.ts";
import { createUploadGuard, isUpload, type UploadDeps, type UploadGuard } from "./uploads.ts";

/** A request pasted into the signature check is the longest: 128 KiB, three times as long when encoded. */
const MAX_FORM_BYTES = 512 * 1024;
/** Whoever is not signed in has nothing longer to say than a name and a password. */
const MAX_STRANGER_BYTES = 16 * 1024;

/** A selection of a whole page has some sixty. What has hundreds of thousands takes seconds to read. */
const MAX_FIELDS = 1_000;

/** Before any handler that changes something: what bounds the form, and what says whether it is ours. */
export function createFormGuards(
	deps: Pick<WebDeps, "publicUrl"> & UploadDeps,
): (takesFile: FileBounds | null) => readonly MiddlewareHandler<WebEnv>[] {
	const origin = new URL(deps.publicUrl).origin;
	// One for each, because forms of the same bounds share their slots.
	const guards = new Map<FileBounds, UploadGuard>();
	const guardOf = (bounds: FileBounds) => {
		const guard = guards.get(bounds) ?? createUploadGuard(deps, bounds);
		guards.set(bounds, guard);
		return guard;
	};
	return (takesFile) => {
		const guardUpload = takesFile === null ? null : guardOf(takesFile);
		const isFile = (c: WebContext) => guardUpload !== null && isUpload(c);
		return [limitForms(isFile), guardForms(origin, guardUpload)];
	};
}

type IsFile = (c: WebContext) => boolean;

function limitForms(isFile: IsFile): MiddlewareHandler<WebEnv> {
	const onError = (c: WebContext) => answerError(c, "body_too_large");
	const ofStrangers = bodyLimit({ maxSize: MAX_STRANGER_BYTES, onError });
	const ofPeople = bodyLimit({ maxSize: MAX_FORM_BYTES, onError });
	return (c, next) => {
		if (c.get("viewer") === null) return ofStrangers(c, next);
		// Files have limits of their own, and are never held: see uploads.ts.
		return isFile(c) ? next() : ofPeople(c, next);
	};
}

/** Only GET, HEAD and POST are spoken here. `guardUpload`: null where no file is taken. */
function guardForms(origin: string, guardUpload: UploadGuard | null): MiddlewareHandler<WebEnv> {
	return async (c, next) => {
		const { method } = c.req;
		if (method === "GET" || method === "HEAD") return next();
		if (method !== "POST") return answerError(c, "method_not_allowed");
		if (!isFromHere(c, origin)) return answerError(c, "form_not_valid");
		if (guardUpload !== null && isUpload(c)) return guardUpload(c, next);
		if (await hasTooManyFields(c)) return answerError(c, "body_too_large");
		const token = await readToken(c);
		if (!c.get("formGuard").isOwn(c, token)) return answerError(c, "form_not_valid");
		return (await hasNulInForm(c)) ? answerError(c, "invalid_field") : next();
	};
}

/** Counted before the form is read, by what every field must have: a header of its own in multipart forms, an ampersand before it in others. */
async function hasTooManyFields(c: WebContext): Promise<boolean> {
	const isMultipart = /multipart/i.test(c.req.header("content-type") ?? "");
	const marks = (await readBytes(c))
		.toString("latin1")
		.matchAll(isMultipart ? /content-disposition/gi : /&/g);
	return marks.drop(MAX_FIELDS).next().done !== true;
}

async function readBytes(c: WebContext): Promise<Buffer> {
	try {
		return Buffer.from(await c.req.arrayBuffer());
	} catch {
		// Whoever hung up on the way is refused for want of a token.
		return Buffer.alloc(0);
	}
}

/** What cannot be read as a form has no token: whoever sends such a thing is refused, and nothing is logged. */
async function readToken(c: WebContext): Promise<unknown> {
	try {
		return (await c.req.parseBody())[CSRF_FIELD];
	} catch {
		return undefined;
	}
}

/** Browsers say where a request comes from; what says nothing is left to the token. */
function isFromHere(c: WebContext, publicOrigin: string): boolean {
	const site = c.req.header("sec-fetch-site");
	if (site !== undefined) return site === "same-origin" || site === "none";
	const origin = c.req.header("origin");
	if (origin === undefined || origin === publicOrigin) return true;
	// Opened by another name than PUBLIC_URL, such as localhost: its own name is what counts.
	return URL.canParse(origin) && new URL(origin).host === c.req.header("host");
}

const NUL = "\u0000";
/** In the path and the query alike, both of which are decoded only once. */
const NUL_IN_ADDRESS = /%00/;

/** Before anything is looked for by what the address says. */
export const guardAddress: MiddlewareHandler<WebEnv> = async (c, next) =>
	NUL_IN_ADDRESS.test(c.req.url) ? answerError(c, "not_found") : next();

/** Of text and of files' names; what is in a file is left to whoever reads it. */
async function hasNulInForm(c: WebContext): Promise<boolean> {
	const fields = Object.values(await c.req.parseBody({ all: true })).flat();
	return fields.some((field) => (typeof field === "string" ? field : field.name).includes(NUL));
}
