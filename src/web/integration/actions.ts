// What the buttons of the integration page do: parse, call one use case, say how it went, back to the page.

import { issueKey, revokeKey } from "../../accounts/keys.ts";
import { removePostbackUrl, savePostbackUrl } from "../../accounts/postback-url.ts";
import {
	activateSecret,
	discardSecret,
	endReplacedSecrets,
	prepareSecret,
} from "../../accounts/signing-secret.ts";
import { resendDelivery, resendFailedSince } from "../../callbacks/resend.ts";
import { judgeTestDecision, parseMove, sideOf } from "../../conversions/decision-rights.ts";
import { sendTestConversion, type TestSent, walkTestConversion } from "../../conversions/send-test.ts";
import type { Fault, Result } from "../../domain/fault.ts";
import { attemptsInWords } from "../../domain/retry.ts";
import type { Cancelled } from "../../store/cancellations.ts";
import { findOldestPending } from "../../store/delivery-health.ts";
import { STATUS_WORDS } from "../components/conversion-words.ts";
import { countOf } from "../components/text.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { answerError } from "../error-page.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import { deliveryPath, integrationPath } from "../paths.ts";
import { programmeOf, viewerOf } from "../viewer.ts";
import { showIntegration } from "./integration-page.ts";
import { handOverIssued } from "./issued-cookie.ts";

export async function issueApiKey(c: WebContext, deps: WebDeps): Promise<Response> {
	const { programme, personId } = whoAndWhere(c);
	const issued = await issueKey(deps, programme.public_id, personId);
	if (!issued.ok) return backWithFault(c, issued.fault);
	const { key, secret } = issued.value;
	handOverIssued(c, deps, programme, personId, { key, secret });
	return back(c, "keys");
}

export async function revokeApiKey(c: WebContext, deps: WebDeps): Promise<Response> {
	const { programme, personId } = whoAndWhere(c);
	const revoked = await revokeKey(deps, programme.public_id, c.req.param("keyId") ?? "", personId);
	return finish(c, revoked, "The key is revoked: requests with it are refused from now on.");
}

export async function issueNextSecret(c: WebContext, deps: WebDeps): Promise<Response> {
	const { programme, personId } = whoAndWhere(c);
	const prepared = await prepareSecret(deps, programme.public_id, personId);
	if (!prepared.ok) return backWithFault(c, prepared.fault);
	handOverIssued(c, deps, programme, personId, { key: null, secret: prepared.value.secret });
	return back(c, "keys");
}

export async function activateNextSecret(c: WebContext, deps: WebDeps): Promise<Response> {
	const { programme, personId } = whoAndWhere(c);
	const { secretId } = await readTextFields(c, ["secretId"]);
	const activated = await activateSecret(deps, programme.public_id, secretId, personId);
	const text =
		"The new secret is active: callbacks are signed with it. When nothing of yours uses the old one any more, end it.";
	return finish(c, activated, text);
}

export async function discardNextSecret(c: WebContext, deps: WebDeps): Promise<Response> {
	const { programme, personId } = whoAndWhere(c);
	const { secretId } = await readTextFields(c, ["secretId"]);
	const discarded = await discardSecret(deps, programme.public_id, secretId, personId);
	return finish(c, discarded, "The prepared secret is discarded. The active one stays as it is.");
}

export async function endOldSecret(c: WebContext, deps: WebDeps): Promise<Response> {
	const { programme, personId } = whoAndWhere(c);
	const ended = await endReplacedSecrets(deps, programme.public_id, personId);
	return finish(c, ended, "The old secret has ended: requests signed with it are refused from now on.");
}

export async function saveUrl(c: WebContext, deps: WebDeps): Promise<Response> {
	const { programme, personId } = whoAndWhere(c);
	const { postbackUrl } = await readTextFields(c, ["postbackUrl"]);
	const saved = await savePostbackUrl(deps, programme.public_id, postbackUrl, personId);
	if (!saved.ok) return showIntegration(c, deps, { value: postbackUrl, error: saved.fault.detail });
	const { url, replaced } = saved.value;
	const isOther = replaced !== null && replaced !== url;
	const { count: waiting } = isOther ? await findOldestPending(deps.store.db, programme.id) : { count: 0 };
	const rest =
		waiting === 0 ? "Status changes from now on are sent there." : "What is on its way goes to the new one.";
	return finish(c, saved, `The Postback URL is saved. ${rest}`);
}

export async function removeUrl(c: WebContext, deps: WebDeps): Promise<Response> {
	const { programme, personId } = whoAndWhere(c);
	const removed = await removePostbackUrl(deps, programme.public_id, personId);
	const rest = removed.ok ? tellCancelled(removed.value) : "";
	return finish(c, removed, `The Postback URL is removed: nothing more is sent.${rest}`);
}

function tellCancelled({ count, isComplete }: Cancelled): string {
	if (count === 0) return isComplete ? "" : " What is still pending is being cancelled.";
	const cancelled = ` ${deliveriesAre(count, "was", "were")} cancelled`;
	return isComplete ? `${cancelled}.` : `${cancelled} so far; the rest follow by themselves.`;
}

export async function sendTest(c: WebContext, deps: WebDeps): Promise<Response> {
	const { programme, personId } = whoAndWhere(c);
	return afterTest(c, await sendTestConversion(deps, programme, personId));
}

export async function moveTest(c: WebContext, deps: WebDeps): Promise<Response> {
	const { programme, personId } = whoAndWhere(c);
	const { move, reason } = await readTextFields(c, ["move", "reason"]);
	const parsed = parseMove(move);
	if (!parsed.ok) return backWithFault(c, parsed.fault);
	const decision = judgeTestDecision(sideOf(viewerOf(c).kind), parsed.value, reason);
	if (!decision.ok) return backWithFault(c, decision.fault);
	const conversionId = c.req.param("conversionId") ?? "";
	return afterTest(c, await walkTestConversion(deps, programme, conversionId, decision.value, personId));
}

function afterTest(c: WebContext, sent: Result<TestSent>): Response {
	if (!sent.ok) return backWithFault(c, sent.fault);
	const { conversion, isOwed } = sent.value;
	const what = `Test conversion ${conversion.order_id} is ${STATUS_WORDS[conversion.status].toLowerCase()}.`;
	if (isOwed) setFlash(c, "good", `${what} Its callback is on its way.`);
	else
		setFlash(
			c,
			"warn",
			`${what} No callback is sent for it: that needs a Postback URL and a signing secret.`,
		);
	return back(c, "test");
}

export async function resendPostback(c: WebContext, deps: WebDeps): Promise<Response> {
	const { programme, personId } = whoAndWhere(c);
	const deliveryId = c.req.param("deliveryId") ?? "";
	const resent = await resendDelivery(deps, programme.id, deliveryId, personId);
	if (!resent.ok && resent.fault.code === "unknown_delivery") return answerError(c, "not_found");
	if (resent.ok) setFlash(c, "good", `It is on its way again: a new run of up to ${attemptsInWords()}.`);
	else setFlash(c, "bad", resent.fault.detail);
	return c.redirect(deliveryPath(programme.public_id, deliveryId), 303);
}

export async function resendFailed(c: WebContext, deps: WebDeps): Promise<Response> {
	const { programme, personId } = whoAndWhere(c);
	const { since } = await readTextFields(c, ["since"]);
	const sinceMs = parseUtcMinute(since);
	if (sinceMs === null) {
		setFlash(c, "bad", "Enter since when, as a date and a time in UTC such as 2026-03-01T12:00.");
		return back(c);
	}
	const resent = await resendFailedSince(deps, programme.id, sinceMs, personId);
	if (!resent.ok) return backWithFault(c, resent.fault);
	const text =
		resent.value === 0
			? "Nothing has failed since then, so nothing was sent again."
			: `${deliveriesAre(resent.value, "is", "are")} on the way again.`;
	setFlash(c, resent.value === 0 ? "info" : "good", text);
	return back(c);
}

/** "1 delivery was", "2 deliveries were". */
function deliveriesAre(deliveries: number, one: string, more: string): string {
	return `${countOf(deliveries, "delivery", "deliveries")} ${deliveries === 1 ? one : more}`;
}

/** As a field of the kind datetime-local sends it. */
function parseUtcMinute(text: string): number | null {
	if (!/^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?$/.test(text)) return null;
	const atMs = Date.parse(`${text}Z`);
	return Number.isNaN(atMs) ? null : atMs;
}

function whoAndWhere(c: WebContext) {
	return { programme: programmeOf(c), personId: viewerOf(c).personId };
}

/** To the top, where the message stands; to a section only where that section itself tells the result. */
function back(c: WebContext, section?: "keys" | "test"): Response {
	const path = integrationPath(programmeOf(c).public_id);
	return c.redirect(section === undefined ? path : `${path}#${section}`, 303);
}

function backWithFault(c: WebContext, { detail }: Fault): Response {
	setFlash(c, "bad", detail);
	return back(c);
}

function finish(c: WebContext, result: Result<unknown>, text: string): Response {
	if (!result.ok) return backWithFault(c, result.fault);
	setFlash(c, "good", text);
	return back(c);
}
