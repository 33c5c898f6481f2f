// "Check a signature": paste a request, see step by step where it differs. What is pasted is looked at and
// forgotten; the secret is not even shown again.

import { html } from "hono/html";
import * as z from "zod";
import { checkSignature } from "../../accounts/check-signature.ts";
import type { PastedRequest } from "../../domain/pasted-request.ts";
import { rebuildRequest } from "../../domain/sent-request.ts";
import { findDeliveryDetail, listAttempts } from "../../store/attempt-list.ts";
import type { Programme } from "../../store/programmes.ts";
import { padded, section } from "../components/blocks.ts";
import { button, postForm, selectField, textArea, textField } from "../components/forms.ts";
import { count } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { readTextFields } from "../form.ts";
import type { Html } from "../html.ts";
import { signaturePath } from "../paths.ts";
import { programmeOf } from "../viewer.ts";
import { answerTab } from "./frame.ts";
import { findingsSection, refusalSection } from "./signature-findings.ts";

/**
 * What is looked at: every spelling of the body is hashed, and no server takes more headers. The largest request of either
 * direction but a batch is half of it.
 */
const MAX_LENGTHS = {
	method: 32,
	target: 4_096,
	headers: 16_384,
	body: 131_072,
	secret: 1_024,
	computed: 1_024,
};
const EMPTY: PastedRequest = { method: "POST", target: "/v1/conversions", headers: "", body: "" };
const METHODS = ["POST", "GET", "PUT", "PATCH", "DELETE"] as const;
const FIELDS = ["method", "target", "headers", "body", "secret", "computed"] as const;
const LABELS: Readonly<Record<(typeof FIELDS)[number], string>> = {
	method: "Method",
	target: "Path and query",
	headers: "Headers",
	body: "Body",
	secret: "Signing secret",
	computed: "Signature your code computed",
};
const NOT_STORED = "Nothing of it is stored.";
const ATTEMPT = z.object({
	delivery: z.string(),
	attempt: z.coerce.number().int(),
	/** Only where it went: the rest is to be what arrived there. */
	only: z.literal("path").optional().catch(undefined),
});

export async function showSignatureForm(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const filled = await pastedFromAttempt(c, deps, programme);
	const isFilled = filled !== null && filled.headers !== "";
	const hint = !isFilled
		? NOT_STORED
		: `This is the callback as we sent it. Paste over it what your server received. ${NOT_STORED}`;
	return render(c, deps, programme, { pasted: filled ?? EMPTY, findings: null, hint });
}

export async function checkPasted(c: WebContext, deps: WebDeps): Promise<Response> {
	const programme = programmeOf(c);
	const fields = await readTextFields(c, FIELDS);
	const { secret, computed, ...pasted } = fields;
	const tooLong = FIELDS.find((name) => fields[name].length > MAX_LENGTHS[name]);
	if (tooLong !== undefined) {
		const text = `The field ${LABELS[tooLong]} has more than ${count(MAX_LENGTHS[tooLong])} characters. Paste less.`;
		const shown = { ...pasted, [tooLong]: "" };
		return render(c, deps, programme, { pasted: shown, findings: refusalSection(text), status: 422 });
	}
	const found = await checkSignature(deps, programme, { pasted, secret, computed });
	const findings = findingsSection(programme.public_id, found);
	return render(c, deps, programme, { pasted, computed, findings });
}

/** From a delivery's page: the request of one attempt, filled in. */
async function pastedFromAttempt(
	c: WebContext,
	{ store, network }: WebDeps,
	programme: Programme,
): Promise<PastedRequest | null> {
	const asked = ATTEMPT.safeParse(c.req.query());
	if (!asked.success) return null;
	const delivery = await findDeliveryDetail(store.db, programme.id, asked.data.delivery);
	if (delivery === undefined) return null;
	const attempts = await listAttempts(store.db, delivery.id);
	const attempt = attempts.find(({ seq }) => seq === asked.data.attempt);
	const request = attempt === undefined ? null : rebuildRequest(attempt, delivery, network.face.brand);
	if (request === null) return null;
	const { pathname, search } = new URL(request.url);
	if (asked.data.only === "path") return { ...EMPTY, target: pathname + search };
	const headers = request.headers.map(([name, value]) => `${name}: ${value}`).join("\n");
	return { method: "POST", target: pathname + search, headers, body: request.body };
}

function render(
	c: WebContext,
	deps: WebDeps,
	programme: Programme,
	page: { pasted: PastedRequest; computed?: string; findings: Html | null; hint?: string; status?: number },
): Promise<Response> {
	const action = `${signaturePath(programme.public_id)}#findings`;
	return answerTab(c, {
		tab: "signature",
		hint: "Paste a signed request: a callback as your server received it, or your own request to us. We show which part differs from what was signed.",
		status: page.status ?? 200,
		body: html`${page.findings}${section({
			id: "paste",
			title: "The request",
			hint: page.hint ?? NOT_STORED,
			body: padded(form(action, csrfField(c), page, deps.network.face.brand)),
		})}`,
	});
}

function form(
	action: string,
	csrf: Html,
	{ pasted, computed = "" }: { pasted: PastedRequest; computed?: string },
	brand: string,
): Html {
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
			label: "Headers, one per line",
			value: pasted.headers,
			rows: 5,
			hint: `Include ${trio.join(", ")}. With X-${brand}-Event it is checked, too; other headers are ignored.`,
		})}${textArea({
			name: "body",
			label: "Body, exactly as it arrived",
			value: pasted.body,
			rows: 7,
			hint: "Not formatted, not shortened. Even one extra space changes the signature.",
		})}<div class="form-grid">${textField({
			name: "computed",
			label: "Signature your code computed (optional)",
			value: computed,
			isMono: true,
			autocomplete: "off",
			hint: "For a callback that your server refuses: we say what your code did differently.",
		})}${textField({
			name: "secret",
			label: "Signing secret (optional)",
			type: "password",
			autocomplete: "off",
			hint: "Leave it empty to check with the programme's own. It is not stored, not logged and not shown again.",
		})}</div><div class="row">${button({ label: "Check", tone: "primary" })}</div>`,
	});
}
