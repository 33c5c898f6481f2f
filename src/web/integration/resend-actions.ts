// What the buttons of the list and of a delivery's own page do: parse, call one use case, say how it went, back to the
// page as it was.

import { resendDelivery, resendFailedSince } from "../../callbacks/resend.ts";
import { attemptsInWords } from "../../domain/retry.ts";
import { countOf } from "../components/text.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { answerError } from "../error-page.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import { deliveryPath } from "../paths.ts";
import { programmeOf, viewerOf } from "../viewer.ts";
import { backTo, backWithFault, type FormPart } from "./tab-form.ts";

const LIST: FormPart = { tab: "callbacks", part: "deliveries" };

export async function resendPostback(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const deliveryId = c.req.param("deliveryId") ?? "";
	const resent = await resendDelivery(deps, programme.id, deliveryId, viewerOf(c).personId);
	if (!resent.ok && resent.fault.code === "unknown_delivery") return answerError(c, "not_found");
	if (resent.ok) setFlash(c, "good", `It is on its way again: a new run of up to ${attemptsInWords()}.`);
	else setFlash(c, "bad", resent.fault.detail);
	return c.redirect(deliveryPath(programme.public_id, deliveryId), 303);
}

export async function resendFailed(c: WebContext, deps: WebDeps): Promise<Response> {
	const { since } = await readTextFields(c, ["since"]);
	const sinceMs = parseUtcMinute(since);
	if (sinceMs === null) {
		const text = "Enter since when, as a date and a time in UTC such as 2026-03-01T12:00.";
		setFlash(c, "bad", text, LIST.part);
		return backTo(c, LIST);
	}
	const resent = await resendFailedSince(deps, programmeOf(c).id, sinceMs, viewerOf(c).personId);
	if (!resent.ok) return backWithFault(c, LIST, resent.fault);
	const text =
		resent.value === 0
			? "Nothing has failed since then, so nothing was sent again."
			: `${countOf(resent.value, "callback")} ${resent.value === 1 ? "is" : "are"} on the way again.`;
	setFlash(c, resent.value === 0 ? "info" : "good", text, LIST.part);
	return backTo(c, LIST);
}

/** As a field of the kind datetime-local sends it. */
function parseUtcMinute(text: string): number | null {
	if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?$/.test(text)) return null;
	const atMs = Date.parse(`${text}Z`);
	return Number.isNaN(atMs) ? null : atMs;
}
