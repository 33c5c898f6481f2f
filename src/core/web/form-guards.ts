// Makes the guards of forms. A form is accepted only from our own pages, judged by the origin that the browser sends.
// The size of the body and the number of fields are limited. A text with a NUL character is refused, because
// PostgreSQL cannot store it.

import type { MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { answerError } from "./error-page.ts";
import type { WebContext, WebDeps, WebEnv } from "./page.ts";
import { createUploadGuard, isUpload, type UploadDeps, type UploadGuard } from "./receive-file.ts";
import type { Route } from "./routes.ts";
import { clientOf } from "./visitor.ts";

type Guard = MiddlewareHandler<WebEnv>;
type FormDeps = WebDeps & UploadDeps;

/**
 * Maximum size of a form. The longest form has a pasted request for the signature check, which may have 128 KiB and
 * takes three times as much when encoded.
 */
export const MAX_FORM_BYTES = 512 * 1024;
/**
 * Maximum size of a form from a visitor who is not signed in. Such forms contain little more than a name and
 * a password.
 */
export const MAX_STRANGER_BYTES = 16 * 1024;
/**
 * Maximum number of fields. A form that selects all rows of a page has about sixty. Hundreds of thousands
 * would take seconds to parse.
 */
const MAX_FIELDS = 1_000;

/**
 * Returns a function that makes the guards of a route's form. The first guard limits the size, and the second
 * checks the rest.
 */
export function createFormGuards(
	deps: FormDeps,
): (route: Pick<Route, "takesFile" | "waitsOutside">) => readonly Guard[] {
	return ({ takesFile, waitsOutside = false }) => {
		const upload = takesFile === undefined ? null : createUploadGuard(deps, takesFile);
		return [limitFormSize(upload), checkForm(deps, upload, waitsOutside)];
	};
}

function limitFormSize(upload: UploadGuard | null): Guard {
	const onError = (c: WebContext) => answerError(c, "body_too_large");
	const limitStrangers = bodyLimit({ maxSize: MAX_STRANGER_BYTES, onError });
	const limitSignedIn = bodyLimit({ maxSize: MAX_FORM_BYTES, onError });
	return async (c, next) => {
		try {
			if (c.get("viewer") === null) return await limitStrangers(c, next);
			// Uploaded files have their own limits and are never held in memory (receive-file.ts).
			if (upload !== null && isUpload(c)) return await next();
			return await limitSignedIn(c, next);
		} catch {
			// The client disconnected while a form without a Content-Length was read. Errors of the page itself do not
			// arrive here, because Hono answers them first.
			return answerError(c, "cut_off");
		}
	};
}

/**
 * Checks the method, the origin and the fields. After that, an ordinary form waits for admission, and an upload is
 * passed to its own guard.
 */
function checkForm(deps: FormDeps, upload: UploadGuard | null, waitsOutside: boolean): Guard {
	const { origin } = new URL(deps.publicUrl);
	return async (c, next) => {
		const { method } = c.req;
		if (method === "GET" || method === "HEAD") return next();
		if (method !== "POST") return answerError(c, "method_not_allowed");
		if (!isFromOurPages(c, origin)) return answerError(c, "form_not_valid");
		if (upload !== null && isUpload(c)) return upload(c, next);
		const body = await c.req.arrayBuffer().catch(() => undefined);
		if (body === undefined) return answerError(c, "cut_off");
		const leave = await admitForm(c, deps, waitsOutside);
		if (leave === undefined) return answerError(c, "busy");
		try {
			const problem = await findProblem(c, Buffer.from(body));
			return problem === null ? await next() : await answerError(c, problem);
		} finally {
			leave();
		}
	};
}

function admitForm(c: WebContext, deps: FormDeps, waitsOutside: boolean) {
	const viewer = c.get("viewer");
	if (viewer === null) return deps.admission.admit("passwordForms", clientOf(c.get("visitor"), deps));
	return deps.admission.admit(waitsOutside ? "outsideRequests" : "pages", viewer.publicId);
}

async function findProblem(
	c: WebContext,
	body: Buffer,
): Promise<"body_too_large" | "invalid_field" | "form_not_valid" | null> {
	if (hasTooManyFields(c, body)) return "body_too_large";
	try {
		const fields = Object.values(await c.req.parseBody({ all: true })).flat();
		// Only texts and file names are checked here. The content of a file is checked by the code that reads it.
		const hasNul = fields.some((field) =>
			(typeof field === "string" ? field : field.name).includes("\u0000"),
		);
		return hasNul ? "invalid_field" : null;
	} catch {
		// The body could not be parsed as a form, which is the sender's mistake and not ours.
		return "form_not_valid";
	}
}

/**
 * Counts the fields before the form is parsed. Each part of a multipart form has a Content-Disposition
 * header, and in other forms an ampersand separates the fields.
 */
function hasTooManyFields(c: WebContext, body: Buffer): boolean {
	const isMultipart = /multipart/i.test(c.req.header("content-type") ?? "");
	const marks = body.toString("latin1").matchAll(isMultipart ? /content-disposition/gi : /&/g);
	return marks.drop(MAX_FIELDS).next().done !== true;
}

/**
 * Returns true if a form comes from our own pages. Every browser sends Sec-Fetch-Site, Origin or both with a
 * form, and a page of another site cannot remove them. A request without either comes from a program, which
 * has no visitor's cookies.
 */
function isFromOurPages(c: WebContext, publicOrigin: string): boolean {
	const site = c.req.header("sec-fetch-site");
	if (site !== undefined) return site === "same-origin" || site === "none";
	const origin = c.req.header("origin");
	if (origin === undefined || origin === publicOrigin) return true;
	// People may open the site under a host name that differs from PUBLIC_URL, such as localhost. The origin
	// must then match that name.
	return URL.canParse(origin) && new URL(origin).host === c.req.header("host");
}
