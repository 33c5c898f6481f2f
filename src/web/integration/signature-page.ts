// "Check a signature": paste a request, see step by step where it differs. What is pasted is looked at and
// forgotten; the secret is not even shown again.

import { html } from "hono/html";
import * as z from "zod";
import { checkSignature } from "../../accounts/check-signature.ts";
import type {
	Diagnosis,
	DiagnosisPart,
	DiagnosisVerdict,
	PastedRequest,
} from "../../domain/signature-diagnosis.ts";
import { findDeliveryDetail, listAttempts } from "../../store/attempt-list.ts";
import type { Programme } from "../../store/programmes.ts";
import { message, padded, section } from "../components/blocks.ts";
import { button, postForm, selectField, textArea, textField } from "../components/forms.ts";
import { dataTable } from "../components/lists.ts";
import { badge, codeBlock, type Tone } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { readTextFields } from "../form.ts";
import type { Html } from "../html.ts";
import { signaturePath } from "../paths.ts";
import { programmeOf } from "../viewer.ts";
import { rebuildRequest } from "./attempt-request.ts";
import { answerTab } from "./frame.ts";

/** Every spelling of the body is hashed: no request of either direction comes near. */
const MAX_PASTED_LENGTH = 131_072;
const EMPTY: PastedRequest = { method: "POST", target: "/v1/conversions", headers: "", body: "" };
const METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE"] as const;
const ATTEMPT = z.object({ delivery: z.string(), attempt: z.coerce.number().int() });

export async function showSignatureForm(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	return render(c, deps, programme, (await pastedFromAttempt(c, deps, programme)) ?? EMPTY, null);
}

export async function checkPasted(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const fields = await readTextFields(c, ["method", "target", "headers", "body", "secret"]);
	const { secret, ...pasted } = fields;
	if (Object.values(fields).some((text) => text.length > MAX_PASTED_LENGTH)) {
		return render(
			c,
			deps,
			programme,
			{ ...pasted, body: "" },
			"That is longer than any request here. Paste less.",
		);
	}
	return render(c, deps, programme, pasted, await checkSignature(deps, programme, pasted, secret));
}

/** From a delivery's page: the request of one attempt, filled in. */
async function pastedFromAttempt(
	c: WebContext,
	{ store, brand }: WebDeps,
	programme: Programme,
): Promise<PastedRequest | null> {
	const asked = ATTEMPT.safeParse(c.req.query());
	if (!asked.success) return null;
	const delivery = await findDeliveryDetail(store.db, programme.id, asked.data.delivery);
	if (delivery === undefined) return null;
	const attempts = await listAttempts(store.db, delivery.id);
	const attempt = attempts.find(({ seq }) => seq === asked.data.attempt);
	const request = attempt === undefined ? null : rebuildRequest(attempt, delivery, brand);
	if (request === null) return null;
	const { pathname, search } = new URL(request.url);
	const headers = request.headers.map(([name, value]) => `${name}: ${value}`).join("\n");
	return { method: "POST", target: pathname + search, headers, body: request.body };
}

function render(
	c: WebContext,
	deps: WebDeps,
	programme: Programme,
	pasted: PastedRequest,
	found: Diagnosis | string | null,
): Promise<Response> {
	return answerTab(c, {
		tab: "signature",
		title: "Check a signature",
		hint: "Paste a request of either direction, yours to us or ours to you, and see which part differs from what was signed.",
		status: typeof found === "string" ? 422 : 200,
		body: html`${found === null ? null : findings(found)}${section({
			id: "paste",
			title: "The request",
			hint: "Nothing of it is kept.",
			body: padded(form(signaturePath(programme.public_id), csrfField(c), pasted, deps.brand)),
		})}`,
	});
}

function form(action: string, csrf: Html, pasted: PastedRequest, brand: string): Html {
	const trio = ["Timestamp", "Nonce", "Signature"].map((name) => `X-${brand}-${name}`);
	const isKnown = METHODS.some((method) => method === pasted.method);
	const methods = isKnown ? METHODS : [pasted.method, ...METHODS];
	return postForm({
		action,
		csrf,
		body: html`<div class="form-grid">${selectField({
			name: "method",
			label: "Method",
			value: pasted.method,
			options: methods.map((method) => ({ value: method, label: method })),
		})}${textField({
			name: "target",
			label: "Path and query, or the whole URL",
			value: pasted.target,
			isMono: true,
			autocomplete: "off",
		})}</div>${textArea({
			name: "headers",
			label: "Headers, one a line",
			value: pasted.headers,
			rows: 5,
			hint: `Needed are ${trio.join(", ")}; others are left alone.`,
		})}${textArea({
			name: "body",
			label: "Body, as it was sent",
			value: pasted.body,
			rows: 7,
			hint: "Not formatted, not shortened: one space more and the signature is another.",
		})}${textField({
			name: "secret",
			label: "Signing secret (optional)",
			type: "password",
			autocomplete: "off",
			hint: "Empty: the programme's own. It is not stored, not logged and not shown again.",
		})}<div class="row">${button({ label: "Check", tone: "primary" })}</div>`,
	});
}

const PART_LABELS: Readonly<Record<DiagnosisPart, string>> = {
	headers: "Headers",
	timestamp: "Timestamp",
	nonce: "Nonce",
	signature: "Signature's form",
	method: "Method",
	path: "Path and query",
	body: "Body",
	secret: "Secret",
};
const VERDICTS: Readonly<Record<DiagnosisVerdict, readonly [Tone, string]>> = {
	good: ["good", "Right"],
	bad: ["bad", "Differs"],
	warn: ["warn", "Note"],
	unknown: ["plain", "Not known"],
};

function findings(found: Diagnosis | string): Html {
	if (typeof found === "string") return message("bad", found);
	return section({
		id: "findings",
		title: "What we found",
		body: html`${padded(message(found.isGood ? "good" : "bad", found.conclusion))}${dataTable({
			caption: "Part by part",
			rows: found.steps,
			empty: null,
			stacks: true,
			columns: [
				{
					title: "Part",
					namesRow: true,
					cell: ({ part }) => html`<span class="nowrap">${PART_LABELS[part]}</span>`,
				},
				{ title: "Result", cell: ({ verdict }) => badge(...VERDICTS[verdict]) },
				{ title: "What to know", cell: ({ text }) => html`<span class="break">${text}</span>` },
			],
		})}${
			found.canonical === null
				? null
				: padded(
						html`<h3>What has to be signed</h3>`,
						codeBlock(found.canonical, "The canonical string: five lines, joined by a line feed"),
					)
		}`,
	});
}
