// /forgot-password: asks for a link by mail. The answer is the same for every address.

import { html } from "hono/html";
import { requestPasswordReset } from "../../accounts/passwords.ts";
import type { Fault } from "../../domain/fault.ts";
import { isExecutable, OWN_COMMAND } from "../../shipped-files.ts";
import { message } from "../components/blocks.ts";
import { button, linkButton, postForm, textField } from "../components/forms.ts";
import { codeBlock } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { readTextFields } from "../form.ts";
import type { Html } from "../html.ts";
import { answerPlainPage } from "../page.ts";
import { FORGOT_PASSWORD_PATH, SIGN_IN_PATH } from "../paths.ts";

const TITLE = "Choose a new password";

export function showForgotPassword(c: WebContext, { mails }: WebDeps): Promise<Response> {
	return mails.isOn ? answerForm(c, "") : answerPlainPage(c, { title: TITLE, body: WITHOUT_MAIL });
}

export async function requestLink(c: WebContext, deps: WebDeps): Promise<Response> {
	if (!deps.mails.isOn) return showForgotPassword(c, deps);
	const { email } = await readTextFields(c, ["email"]);
	const asked = await requestPasswordReset(deps, email, c.get("visitor"));
	if (!asked.ok) return answerForm(c, email, asked.fault);
	return answerPlainPage(c, { title: TITLE, heading: "Check your inbox", body: sent(email) });
}

function answerForm(c: WebContext, email: string, fault?: Fault): Promise<Response> {
	const fields = html`
		${textField({ name: "email", label: "Email", type: "email", value: email, autocomplete: "username", isRequired: true })}
		${button({ label: "Send the link", tone: "primary", isWide: true })}`;
	return answerPlainPage(c, {
		title: TITLE,
		status: fault?.httpStatus ?? 200,
		body: html`<p>We send you a link to choose a new password.</p>
		${fault === undefined ? null : message("bad", fault.detail)}
		${postForm({ action: FORGOT_PASSWORD_PATH, csrf: csrfField(c), body: fields })}
		<p class="small"><a href="${SIGN_IN_PATH}">Go to sign-in</a></p>`,
	});
}

const TO_SIGN_IN = linkButton({ label: "Go to sign-in", href: SIGN_IN_PATH });

/** Whose machine it is, and where on it, is nobody's business here. */
const LINK_COMMAND = `${OWN_COMMAND} user link --email you@example.com`;

const WITHOUT_MAIL = html`<p>This service cannot send mail. Ask the network's staff: they can create a link for you to choose a new password.</p>
	<p>Nobody on the staff can sign in? Whoever runs this service creates a link on its machine${isExecutable ? "" : ", in its folder"} and with its settings:</p>
	${codeBlock(LINK_COMMAND, "the command")}
	<p>${TO_SIGN_IN}</p>`;

function sent(email: string): Html {
	return html`<p>If <strong class="break">${email}</strong> has an account, a link is on its way there. It works once, for one hour.</p>
	<p>No mail? Check your spam folder and the address, or ask the network's staff for a link.</p>
	<p>${TO_SIGN_IN}</p>`;
}
