// /forgot-password: asks for a link by mail. The answer is the same for every address.

import type { Hono } from "hono";
import { html } from "hono/html";
import { requestPasswordReset } from "../../accounts/passwords.ts";
import type { Fault } from "../../domain/fault.ts";
import { message } from "../components/blocks.ts";
import { button, linkButton, postForm, textField } from "../components/forms.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext, WebEnv } from "../env.ts";
import { readTextFields } from "../form.ts";
import type { Html } from "../html.ts";
import { answerPlainPage } from "../page.ts";

const TITLE = "Choose a new password";

export function mountForgotPasswordPage(site: Hono<WebEnv>, deps: WebDeps): void {
	site.get("/forgot-password", (c) =>
		answerPlainPage(c, { title: TITLE, body: deps.mails.isOn ? form(c, "") : withoutMail() }),
	);
	site.post("/forgot-password", async (c) => {
		if (!deps.mails.isOn) return answerPlainPage(c, { title: TITLE, body: withoutMail() });
		const { email } = await readTextFields(c, ["email"]);
		const asked = await requestPasswordReset(deps, email, c.get("visitor"));
		if (asked.ok) return answerPlainPage(c, { title: TITLE, body: sent(email) });
		return answerPlainPage(c, {
			title: TITLE,
			status: asked.fault.httpStatus,
			body: form(c, email, asked.fault),
		});
	});
}

function form(c: WebContext, email: string, fault?: Fault): Html {
	const fields = html`
		${textField({ name: "email", label: "Email", type: "email", value: email, autocomplete: "username", isRequired: true })}
		${button({ label: "Send the link", tone: "primary", isWide: true })}`;
	return html`<div class="stack">
		<h1>${TITLE}</h1>
		<p>We mail you a link with which you can choose a new one.</p>
		${fault === undefined ? null : message("bad", fault.detail)}
		${postForm({ action: "/forgot-password", csrf: csrfField(c), body: fields })}
		<p class="small"><a href="/sign-in">Go to sign-in</a></p>
	</div>`;
}

function sent(email: string): Html {
	return html`<div class="stack">
		<h1>Check your inbox</h1>
		<p>If <strong class="break">${email}</strong> has an account, a link is on its way there. It works once, for one hour.</p>
		<p>Nothing came? Check your spam folder and the address, or ask the network's staff for a link.</p>
		<p>${linkButton({ label: "Go to sign-in", href: "/sign-in" })}</p>
	</div>`;
}

function withoutMail(): Html {
	return html`<div class="stack">
		<h1>${TITLE}</h1>
		<p>This service cannot send mail. Ask the network's staff: they can make you a link with which you choose a new password.</p>
		<p>${linkButton({ label: "Go to sign-in", href: "/sign-in" })}</p>
	</div>`;
}
