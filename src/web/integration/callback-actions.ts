// What the buttons at the Postback URL and at the test conversion do: parse, call one use case, say how it went, back to
// the list as it was.

import { removePostbackUrl, savePostbackUrl } from "../../accounts/postback-url.ts";
import { judgeTestDecision, parseMove, sideOf } from "../../conversions/decision-rights.ts";
import { sendTestConversion, type TestSent, walkTestConversion } from "../../conversions/send-test.ts";
import type { Result } from "../../domain/fault.ts";
import type { Cancelled } from "../../store/cancellations.ts";
import { findOldestPending } from "../../store/delivery-health.ts";
import { STATUS_WORDS } from "../components/conversion-words.ts";
import { countOf } from "../components/text.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import { programmeOf, viewerOf } from "../viewer.ts";
import { showCallbacks } from "./callbacks-page.ts";
import { isListened } from "./callbacks-view.ts";
import { backTo, backWithFault, type FormPart, finish } from "./tab-form.ts";

const CALLBACK: FormPart = { tab: "callbacks", part: "callback" };
const TEST: FormPart = { tab: "callbacks", part: "test" };

export async function saveUrl(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const { postbackUrl, back } = await readTextFields(c, ["postbackUrl", "back"]);
	const saved = await savePostbackUrl(deps, programme.public_id, postbackUrl, viewerOf(c).personId);
	if (!saved.ok) return showCallbacks(c, deps, { value: postbackUrl, error: saved.fault.detail, back });
	const { url, replaced } = saved.value;
	const isOther = replaced !== null && replaced !== url;
	const { count: waiting } = isOther ? await findOldestPending(deps.store.db, programme.id) : { count: 0 };
	const rest =
		waiting === 0
			? "Status changes from now on are sent there."
			: "Pending callbacks are sent to the new URL.";
	return finish(c, CALLBACK, saved, `The Postback URL is saved. ${rest}`);
}

export async function removeUrl(c: WebContext, deps: WebDeps): Promise<Response> {
	const removed = await removePostbackUrl(deps, programmeOf(c).public_id, viewerOf(c).personId);
	const rest = removed.ok ? tellCancelled(removed.value) : "";
	return finish(c, CALLBACK, removed, `The Postback URL is removed: nothing more is sent.${rest}`);
}

function tellCancelled({ count, isComplete }: Cancelled): string {
	if (count === 0) return isComplete ? "" : " What is still pending is being cancelled.";
	const cancelled = ` ${countOf(count, "callback")} ${count === 1 ? "was" : "were"} cancelled`;
	return isComplete ? `${cancelled}.` : `${cancelled} so far; the rest follow by themselves.`;
}

export async function sendTest(c: WebContext, deps: WebDeps): Promise<Response> {
	return afterTest(c, deps, await sendTestConversion(deps, programmeOf(c), viewerOf(c).personId));
}

export async function moveTest(c: WebContext, deps: WebDeps): Promise<Response> {
	const { personId, kind } = viewerOf(c);
	const { move, reason } = await readTextFields(c, ["move", "reason"]);
	const parsed = parseMove(move);
	if (!parsed.ok) return backWithFault(c, TEST, parsed.fault);
	const decision = judgeTestDecision(sideOf(kind), parsed.value, reason);
	if (!decision.ok) return backWithFault(c, TEST, decision.fault);
	const conversionId = c.req.param("conversionId") ?? "";
	const walked = await walkTestConversion(deps, programmeOf(c), conversionId, decision.value, personId);
	return afterTest(c, deps, walked);
}

const NOT_SENT = "No callback is sent: no Postback URL is saved, and listen is not running.";

/** What comes of the callback shows below, as it happens: nothing is said here that would be untrue a second later. */
async function afterTest(c: WebContext, deps: WebDeps, sent: Result<TestSent>): Promise<Response> {
	if (!sent.ok) return backWithFault(c, TEST, sent.fault);
	const { conversion, isOwed } = sent.value;
	const what = `Test conversion ${conversion.order_id} is ${STATUS_WORDS[conversion.status].toLowerCase()}.`;
	if (isOwed || (await isListened(deps, programmeOf(c)))) setFlash(c, "good", what, TEST.part);
	else {
		const { endpoint_id } = programmeOf(c);
		const why = endpoint_id === null ? NOT_SENT : "No callback is sent for it: there is no signing secret.";
		setFlash(c, "warn", `${what} ${why}`, TEST.part);
	}
	return backTo(c, TEST);
}
