// /network: staff say what their network is called, what it looks like and who its mails come from, and see a mail before
// anybody gets one.

import { html } from "hono/html";
import { composeResetMail } from "../../accounts/account-mail.ts";
import { changeNetwork, type NetworkField } from "../../accounts/network.ts";
import { addressMail } from "../../accounts/network-mailer.ts";
import { sendTestMail } from "../../accounts/test-mail.ts";
import type { Fault } from "../../domain/fault.ts";
import type { Mail } from "../../ports.ts";
import type { NetworkFace } from "../../store/known-network.ts";
import { facts, message, padded, pageHeader, section } from "../components/blocks.ts";
import { button, linkButton, postForm } from "../components/forms.ts";
import { codeBlock } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import type { Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { NETWORK_PATH, ownPath, SET_UP_PATH, TEST_MAIL_PATH, welcomePath } from "../paths.ts";
import { errorsByField } from "../programmes/terms-form.ts";
import { viewerOf } from "../viewer.ts";
import { logoSection } from "./logo-section.ts";
import { brandNote, formOf, NETWORK_FIELDS, type NetworkForm, networkFields } from "./network-fields.ts";

export interface NetworkState {
	form?: NetworkForm;
	faults?: readonly Fault[];
	/** Why a logo was not taken. */
	logoFault?: Fault;
}

export function showNetwork(c: WebContext, deps: WebDeps): Promise<Response> {
	return answerNetwork(c, deps, {});
}

export async function saveNetwork(c: WebContext, deps: WebDeps): Promise<Response> {
	const typed = await readTextFields(c, NETWORK_FIELDS);
	const { brandState, brand } = c.get("network");
	const { brand: typedBrand, ...others } = typed;
	// Where the form has no such field, nobody wants to change it.
	const input = brandState === "open" ? typed : others;
	const changed = await changeNetwork(deps, viewerOf(c).personId, input);
	if (!changed.ok) {
		const form = { ...typed, brand: brandState === "open" ? typedBrand : brand };
		return answerNetwork(c, deps, { form, faults: changed.faults });
	}
	setFlash(
		c,
		changed.value.length === 0 ? "info" : "good",
		changed.value.length === 0 ? "Nothing was changed." : "Saved.",
	);
	return c.redirect(NETWORK_PATH, 303);
}

/** From this page or from the set-up: whoever sent it is back where they were. */
export async function sendTest(c: WebContext, deps: WebDeps): Promise<Response> {
	const { next } = await readTextFields(c, ["next"]);
	const { personId, email } = viewerOf(c);
	const sent = await sendTestMail(deps, { personId, email });
	if (sent.ok)
		setFlash(
			c,
			"good",
			`Your mail server accepted the test mail. Check the inbox of ${email}, and the spam folder.`,
		);
	else setFlash(c, "bad", sent.fault.detail);
	return c.redirect(`${ownPath(next) ?? NETWORK_PATH}#mail`, 303);
}

export function answerNetwork(
	c: WebContext,
	deps: WebDeps,
	{ form, faults = [], logoFault }: NetworkState,
): Promise<Response> {
	const face = c.get("network");
	const errors = errorsByField(faults);
	const shown = form ?? formOf(face);
	const names: readonly NetworkField[] = ["name", "supportAddress", "colour"];
	const fields = html`<div class="form-grid">${networkFields(names, shown, errors)}</div>
	<div class="form-grid">${networkFields(["senderName", "senderAddress"], shown, errors)}</div>
	${brandNote(face)}
	${face.brandState === "open" ? html`<div class="form-grid">${networkFields(["brand"], shown, errors)}</div>` : null}
	<div class="row">${button({ label: "Save", tone: "primary" })}</div>`;
	const above =
		errors.get("") ??
		(faults.length === 0 ? undefined : "Nothing was saved yet. Correct what is marked below.");
	const body = html`${pageHeader({
		title: "Network",
		hint: "What people see on pages and in mails. Changes show at once.",
		actions: linkButton({ label: "Guided set-up", href: SET_UP_PATH }),
	})}${above === undefined ? null : message("bad", above)}${section({
		id: "network",
		title: "Name, look and sender",
		body: padded(postForm({ action: NETWORK_PATH, csrf: csrfField(c), body: fields })),
	})}${logoSection(face, csrfField(c), logoFault)}${mailSection(c, deps, face)}`;
	const status = faults[0]?.httpStatus ?? logoFault?.httpStatus ?? 200;
	return answerPage(c, { title: "Network", active: "network", status, body });
}

function mailSection(c: WebContext, { mailer, publicUrl }: WebDeps, face: NetworkFace): Html {
	const sample = composeResetMail(viewerOf(c).email, `${publicUrl}${welcomePath("…")}`);
	const mail = addressMail({ to: [sample.to], subject: sample.subject, text: sample.text }, face, publicUrl);
	return section({
		id: "mail",
		title: "What a mail looks like",
		hint: "The one for a new password, with what is saved above.",
		body: padded(
			facts([
				["From", senderWords(mail)],
				...(mail.replyTo === undefined ? [] : [["Replies go to", mail.replyTo] as const]),
				["Subject", mail.subject],
			]),
			codeBlock(mail.text, "the mail"),
			mailer === null ? MAIL_IS_OFF : testMailForm(csrfField(c), viewerOf(c).email, NETWORK_PATH),
		),
	});
}

function senderWords({ from }: Mail): string {
	if (from === undefined) return "as MAIL_FROM says";
	return `${from.name ?? ""} <${from.address ?? "the address of MAIL_FROM"}>`.trim();
}

const MAIL_IS_OFF = message(
	"warn",
	html`<strong>Mail is off.</strong> You have to hand over invitations and password links yourself, and notices appear on the pages only. Set <code>SMTP_URL</code> and <code>MAIL_FROM</code>, and restart.`,
);

export function testMailForm(csrf: Html, email: string, next: string): Html {
	return postForm({
		action: TEST_MAIL_PATH,
		csrf,
		className: "row",
		body: html`<input type="hidden" name="next" value="${next}">${button({ label: "Send a test mail to me" })}<span class="small soft break">${email}</span>`,
	});
}
