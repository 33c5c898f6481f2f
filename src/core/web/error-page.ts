// Shows the error pages. A page of another programme gets exactly the same answer as a page that does not exist.

import { type FaultCode, httpStatusOf } from "../domain/fault.ts";
import { isDatabaseUnavailable } from "../store/unavailable.ts";
import { answerPage, answerPlainPage, type WebContext } from "./page.ts";
import { START_PATH } from "./paths.ts";
import { html, linkButton, pageHeader } from "./ui.ts";

const WORDS = {
	not_found: {
		title: "Page not found",
		text: "The page does not exist, or you don't have access to it. Check the address, or go to the home page.",
	},
	not_allowed: {
		title: "You don't have access",
		text: "Your role in this programme does not allow this. Nothing was changed. An owner of the programme can change your role.",
	},
	method_not_allowed: {
		title: "This is not possible here",
		text: "Open the page in a browser and use its buttons.",
	},
	form_not_valid: {
		title: "This form cannot be accepted",
		text: "Nothing was changed. It did not come from a page of this service, or was cut off on its way. Go back, reload the page and send it again.",
	},
	invalid_field: {
		title: "This text cannot be saved",
		text: "Nothing was changed. The form holds an invisible character that cannot be stored. Go back and type the text instead of pasting it.",
	},
	body_too_large: { title: "That is too much at once", text: "Nothing was changed. Send less at a time." },
	too_many_exports: {
		title: "Too many files at once",
		text: "You can download two files at a time, and the service a few more. Wait until one has finished, or cancel it in your browser, and try again.",
	},
	cut_off: {
		as: "malformed_json",
		title: "This form was cut off",
		text: "Nothing was changed. Only a part of it arrived. Go back and send it again.",
	},
	busy: {
		as: "unavailable",
		title: "One moment, please",
		text: "More requests are waiting than the service can answer at the moment. Nothing was changed. Try again in a few seconds.",
	},
	unavailable: {
		title: "One moment, please",
		text: "The database cannot be reached just now. Try again in a few seconds.",
	},
	internal: {
		title: "Something went wrong",
		text: "The fault is ours, and it has been recorded. Try again; if it happens again, tell the network's staff.",
	},
} as const satisfies Record<string, { title: string; text: string; as?: FaultCode }>;
type ErrorCode = keyof typeof WORDS;

/** Value of the Retry-After header. The API uses the same value. */
const RETRY_AFTER_SECONDS = 5;

export function answerError(c: WebContext, code: ErrorCode): Promise<Response> {
	const { title, text, ...more } = WORDS[code];
	const status = httpStatusOf("as" in more ? more.as : code) ?? 500;
	if (status === 503) c.header("retry-after", String(RETRY_AFTER_SECONDS));
	const way = html`<p>${linkButton({ label: "Go to the home page", href: START_PATH, tone: "primary" })}</p>`;
	if ((c.get("viewer") ?? null) === null) {
		return answerPlainPage(c, { title, status, body: html`<p>${text}</p>${way}` });
	}
	// A person whose role is too low still belongs to the programme, so the page may show its name.
	const isOutsideProgramme = code !== "not_allowed";
	const body = [pageHeader({ title, hint: text }), way];
	return answerPage(c, { title, active: "account", status, isOutsideProgramme, body });
}

export function errorCodeOf(error: unknown): ErrorCode {
	return isDatabaseUnavailable(error) ? "unavailable" : "internal";
}
