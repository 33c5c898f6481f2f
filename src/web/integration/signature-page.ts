// "Check a signature": paste a request, see part by part where it differs, to the byte. What is pasted is looked at and
// forgotten; the secret is not even shown again.

import { refuse } from "../../domain/fault.ts";
import { rebuildRequest } from "../../domain/sent-request.ts";
import { headerNames } from "../../domain/signature.ts";
import type { Finding, TextDifference, Verdict } from "../../signature-check/causes.ts";
import { type CheckedSignature, checkSignature } from "../../signature-check/check-signature.ts";
import type { Direction, PastedRequest } from "../../signature-check/pasted-request.ts";
import { findDeliveryDetail, listAttempts } from "../../store/queries/delivery-list.ts";
import { declareForm } from "../form.ts";
import { programmeOf, type WebContext, type WebDeps } from "../page.ts";
import { deliveryPath, signaturePath } from "../paths.ts";
import * as ui from "../ui.ts";
import { type Content, count, type Html, html } from "../ui.ts";
import { answerTab } from "./frame.ts";

/** Every spelling of the body is hashed. This is the largest request of either direction but a batch. */
const MOST_CHARACTERS = 65_536;
const EMPTY: PastedRequest = { method: "POST", target: "/v1/conversions", headers: "", body: "" };
const METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE"];
const NOT_STORED = "Nothing of it is stored.";

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
	computed: {
		label: "Signature your code computed (optional)",
		isMono: true,
		autocomplete: "off",
		hint: "If your server refuses a callback, paste the signature it expected: we say what your code did differently.",
	},
	secret: {
		label: "Signing secret (optional)",
		type: "password",
		autocomplete: "off",
		hint: "Leave empty to check with the programme's own secrets. What you enter is not stored, not logged and not shown again.",
	},
});

export async function showSignatureForm(c: WebContext, deps: WebDeps): Promise<Response> {
	const sent = await requestOfAttempt(c, deps);
	const hint = `This is the callback as we sent it. Paste over it what your server received. ${NOT_STORED}`;
	return render(c, deps, { pasted: sent ?? EMPTY, findings: null, ...(sent === null ? {} : { hint }) });
}

export async function checkPasted(c: WebContext, deps: WebDeps): Promise<Response> {
	const fields = await FORM.read(c);
	const { secret, computed, ...pasted } = fields;
	if (Object.values(fields).some((text) => text.length > MOST_CHARACTERS)) {
		const text = `A field has more than ${count(MOST_CHARACTERS)} characters. Paste less.`;
		const show = () => render(c, deps, { pasted: EMPTY, findings: null });
		return FORM.refuse(c, refuse("invalid_field", text), show, {});
	}
	const { yieldToReports } = deps.admission;
	const found = await checkSignature(deps, programmeOf(c), { pasted, secret, computed }, yieldToReports);
	await yieldToReports();
	const findings = findingsSection(programmeOf(c).public_id, found);
	return render(c, deps, { pasted, computed, findings });
}

/** From a delivery's page: the request of one attempt, filled in. */
async function requestOfAttempt(c: WebContext, { store, network }: WebDeps): Promise<PastedRequest | null> {
	const { delivery: deliveryId = "", attempt: seq } = c.req.query();
	const delivery = await findDeliveryDetail(store.db, programmeOf(c).id, deliveryId);
	if (delivery === undefined) return null;
	const attempts = await listAttempts(store.db, delivery.id);
	const attempt = attempts.find((known) => String(known.seq) === seq);
	const request = attempt === undefined ? null : rebuildRequest(attempt, delivery, network.face.brand);
	if (request === null) return null;
	const { pathname, search } = new URL(request.url);
	const headers = request.headers.map(([name, value]) => `${name}: ${value}`).join("\n");
	return { method: "POST", target: pathname + search, headers, body: request.body };
}

function render(
	c: WebContext,
	deps: WebDeps,
	page: { pasted: PastedRequest; computed?: string; findings: Html | null; hint?: string },
): Promise<Response> {
	const { pasted, computed } = page;
	const { timestamp, nonce, signature } = headerNames(deps.network.face.brand);
	const methods = METHODS.includes(pasted.method) ? METHODS : [pasted.method, ...METHODS];
	const form = FORM.show(c, {
		action: `${signaturePath(programmeOf(c).public_id)}#findings`,
		values: { ...pasted, computed },
		looks: {
			method: { options: methods.map((method) => ({ value: method, label: method })) },
			headers: { hint: `Include ${timestamp}, ${nonce} and ${signature}.` },
		},
		rows: ({ fields }) =>
			html`<div class="form-grid">${fields("method", "target")}</div>${fields("headers", "body")}<div class="form-grid">${fields("computed", "secret")}</div>`,
		send: "Check",
	});
	return answerTab(c, {
		tab: "signature",
		hint: "Paste a signed request: a callback as your server received it, or your own request to us. We show which part differs from what was signed.",
		body: [
			page.findings,
			ui.section({
				id: "paste",
				title: "The request",
				hint: page.hint ?? NOT_STORED,
				body: ui.padded(form),
			}),
		],
	});
}

/** Whose text is whose, in either direction. */
const SIDES: Readonly<Record<Direction, Sides>> = {
	callback: ["We sent", "You pasted"],
	request: ["Signed", "Sent"],
};
const VERDICTS: Readonly<Record<Verdict, readonly [ui.Tone, string]>> = {
	good: ["good", "Right"],
	bad: ["bad", "Differs"],
	warn: ["warn", "Note"],
	unknown: ["plain", "Not known"],
};

function findingsSection(programmeId: string, found: CheckedSignature): Html {
	const { findings, computed, canonical, sent } = found;
	const right = findings.filter(({ verdict }) => verdict === "good");
	const rest = findings.filter(({ verdict }) => verdict !== "good");
	const sides = SIDES[found.direction];
	return ui.section({
		id: "findings",
		title: "What we found",
		...(sent === null ? {} : { hint: attemptHint(programmeId, sent) }),
		body: [
			ui.padded(ui.message(found.isGood ? "good" : "bad", found.conclusion)),
			findingsTable("What differs, and what to know", rest, sides),
			// Folded: on a phone they would be two screens before the next thing that matters.
			right.length === 0
				? null
				: ui.padded(
						ui.more(
							`Right: ${right.map(({ part }) => part).join(", ")}`,
							findingsTable("What is right", right, sides),
						),
					),
			computed === null
				? null
				: [
						ui.padded(
							html`<h3>The signature your code computed</h3>`,
							html`<p class="small soft">We compared it with the request as you pasted it.</p>`,
						),
						findingsTable("The signature your code computed", computed, ["Computed over", "You pasted"]),
					],
			canonical === null
				? null
				: ui.padded(
						html`<h3>The text to sign</h3>`,
						ui.codeBlock(canonical, "The text to sign: five lines, joined by a line feed", "5 lines"),
					),
		],
	});
}

function attemptHint(id: string, { attempt }: NonNullable<CheckedSignature["sent"]>): Content {
	const { deliveryId, seq, event, startedAtMs } = attempt;
	return html`Compared with our own record: <a href="${deliveryPath(id, deliveryId)}#attempt-${seq}">attempt ${seq} of
		${event}</a>, sent ${ui.timeTag(startedAtMs)}.`;
}

type Sides = readonly [signed: string, seen: string];

function findingsTable(caption: string, rows: readonly Finding[], sides: Sides): Html {
	return ui.dataTable({
		caption,
		rows,
		empty: null,
		stacks: true,
		columns: [
			{
				title: "Part",
				namesRow: true,
				cell: ({ part }) => html`<span class="nowrap">${ui.capitalise(part)}</span>`,
			},
			{ title: "Result", cell: ({ verdict }) => ui.badge(...VERDICTS[verdict]) },
			{
				title: "What to know",
				cell: ({ text, difference }) =>
					html`<span class="break">${text}</span>${difference === undefined ? null : differenceBlock(difference, sides)}`,
			},
		],
	});
}

function differenceBlock(found: TextDifference, [signed, seen]: Sides): Html {
	const { offset, signedBytes, seenBytes } = found;
	const where = offset === 0 ? "From the first byte on" : `From byte ${count(offset + 1)} on`;
	const side = (name: string, text: string) =>
		html`<p><span class="small soft">${name}</span> <code>${found.before}<mark>${text || "(nothing)"}</mark>${found.after}</code></p>`;
	return html`<div class="difference">
	<p class="small soft">${where} (of ${count(signedBytes)} and ${count(seenBytes)} bytes):</p>
	${side(signed, found.signed)}
	${side(seen, found.seen)}
</div>`;
}
