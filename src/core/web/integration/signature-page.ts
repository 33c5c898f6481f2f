// Shows the tab "Check a signature". A pasted request is not stored.

import { rebuildRequest, type SentRequest } from "../../domain/callback-request.ts";
import { refuse } from "../../domain/fault.ts";
import { headerNames } from "../../domain/signature.ts";
import { type CheckedSignature, checkSignature, pasteSent } from "../../signature-check/check-signature.ts";
import type { Difference } from "../../signature-check/difference.ts";
import { MISTAKES } from "../../signature-check/mistakes.ts";
import type { PastedRequest } from "../../signature-check/pasted-request.ts";
import { findDeliveryDetail, type ListedAttempt, listAttempts } from "../../store/queries/delivery-list.ts";
import { answerError } from "../error-page.ts";
import { declareForm } from "../form.ts";
import type { WebContext, WebDeps } from "../page.ts";
import * as ui from "../ui.ts";
import { count, type Html, html } from "../ui.ts";
import { type CalledPages, calledOf, calledPagesOf } from "./called.ts";
import { answerTab, queryHere } from "./frame.ts";

/**
 * Maximum number of characters in a field. It allows the largest request of either direction, except for
 * batches. The limit matters because several variants of the body are hashed.
 */
const MAX_CHARACTERS = 65_536;
const EMPTY: PastedRequest = { method: "POST", target: "/v1/conversions", headers: "", body: "" };
const METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE"];

const FORM = declareForm({
	method: { label: "Method", options: [] },
	target: { label: "Path and query, or the whole URL", isMono: true, autocomplete: "off" },
	headers: { label: "Headers, one per line", rows: 5, isMono: true },
	body: {
		label: "Body, exactly as it arrived",
		rows: 7,
		isMono: true,
		hint: "Paste it unformatted and complete. Even one extra space changes the signature.",
	},
});

/** Attempt from whose page the reader opened this check. */
interface OpenedFrom {
	deliveryId: string;
	attempt: ListedAttempt;
	sent: SentRequest;
}

export async function showSignatureForm(c: WebContext, deps: WebDeps): Promise<Response> {
	const opened = await findOpenedFrom(c, deps);
	return render(c, deps, { pasted: opened === null ? EMPTY : pasteSent(opened.sent), opened, result: null });
}

export async function checkPasted(c: WebContext, deps: WebDeps): Promise<Response> {
	const pasted = await FORM.read(c);
	const opened = await findOpenedFrom(c, deps);
	if (Object.values(pasted).some((text) => text.length > MAX_CHARACTERS)) {
		const text = `A field has more than ${count(MAX_CHARACTERS)} characters. Paste less.`;
		const show = () => render(c, deps, { pasted: EMPTY, opened, result: null });
		return FORM.refuse(c, refuse("invalid_field", text), show, {});
	}
	const { yieldToReports } = deps.admission;
	const called = await calledOf(c, deps);
	if (called === null) return answerError(c, "not_found");
	const checked = await checkSignature(deps, called.columns, pasted, opened?.sent ?? null, yieldToReports);
	return render(c, deps, { pasted, opened, result: resultSection(checked) });
}

async function findOpenedFrom(c: WebContext, { store, network }: WebDeps): Promise<OpenedFrom | null> {
	const { delivery: deliveryId = "", attempt: seq } = c.req.query();
	const called = await calledOf(c, { store });
	if (called === null) return null;
	const delivery = await findDeliveryDetail(store.db, called.columns.receiver_id, deliveryId);
	if (delivery === undefined) return null;
	const attempt = (await listAttempts(store.db, delivery.id)).find((each) => String(each.seq) === seq);
	const event = { ...delivery, kind: called.kind };
	const sent = attempt === undefined ? null : rebuildRequest(attempt, event, network.face.brand);
	return attempt === undefined || sent === null ? null : { deliveryId, attempt, sent };
}

function render(
	c: WebContext,
	deps: WebDeps,
	{ pasted, opened, result }: { pasted: PastedRequest; opened: OpenedFrom | null; result: Html | null },
): Promise<Response> {
	const called = calledPagesOf(c);
	const { timestamp, nonce, signature } = headerNames(deps.network.face.brand);
	const methods = METHODS.includes(pasted.method) ? METHODS : [pasted.method, ...METHODS];
	const form = FORM.show(c, {
		action: `${called.signaturePath}${queryHere(c)}#result`,
		values: pasted,
		looks: {
			method: { options: methods.map((method) => ({ value: method, label: method })) },
			headers: {
				hint: `Include ${timestamp}, ${nonce} and ${signature}. If your server refuses a callback, put the signature that your code computes in place of ours.`,
			},
		},
		rows: ({ fields }) =>
			html`<div class="form-grid">${fields("method", "target")}</div>${fields("headers", "body")}`,
		send: "Check",
	});
	return answerTab(c, {
		tab: "signature",
		hint: `Paste a signed request: a callback as your server received it${called.kind === "shop" ? ", or your own request to us" : ""}. We show the text to sign and the first difference.`,
		body: [
			result,
			ui.section({
				id: "paste",
				title: "The request",
				hint: opened === null ? NOT_OPENED : openedHint(called, opened),
				body: ui.padded(form),
			}),
		],
	});
}

const NOT_OPENED =
	"Nothing of it is stored. To compare a callback with what we sent, open it under Callbacks and choose “Check its signature”.";

function openedHint(called: CalledPages, { deliveryId, attempt }: OpenedFrom): Html {
	const href = `${called.deliveryPath(deliveryId)}#attempt-${attempt.seq}`;
	return html`It is compared with <a href="${href}">attempt ${attempt.seq}</a>, sent ${ui.timeTag(attempt.started_at_ms)}. Replace the request with what your server received. Nothing of it is stored.`;
}

function resultSection(checked: CheckedSignature): Html {
	const { difference, canonical } = checked;
	return ui.section({
		id: "result",
		title: "Result",
		body: ui.padded(
			ui.message(
				checked.isGood ? "good" : "bad",
				html`<strong>${checked.conclusion}</strong> ${checked.advice}`,
			),
			difference === null ? null : differenceBlock(difference),
			canonical === null
				? null
				: html`<h3>The text to sign</h3>${ui.codeBlock(canonical, "The text to sign: five lines, joined by a line feed", "5 lines")}`,
			checked.isGood
				? null
				: ui.more(
						"The ten usual mistakes",
						html`<ol class="points small">${MISTAKES.map(({ name, cure }) => html`<li><strong>${name}.</strong> ${cure}</li>`)}</ol>`,
					),
		),
	});
}

function differenceBlock({ part, offset, before, sides }: Difference): Html {
	return html`<div class="difference">
	<p class="small soft">First difference: ${part}, at byte ${count(offset + 1)}</p>
	${sides.map(
		([name, rest]) =>
			html`<p><span class="small soft">${name}</span> <code>${before}<mark>${rest || "(nothing)"}</mark></code></p>`,
	)}
</div>`;
}
