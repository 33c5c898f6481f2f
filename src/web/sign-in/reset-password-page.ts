// /reset-password: where the link of the mail leads.

import type { Hono } from "hono";
import { html } from "hono/html";
import { MIN_PASSWORD_LENGTH } from "../../accounts/auth.ts";
import { findResetLink, resetPassword } from "../../accounts/passwords.ts";
import type { Fault } from "../../domain/fault.ts";
import { message } from "../components/blocks.ts";
import { button, linkButton, postForm, textField } from "../components/forms.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext, WebEnv } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import { answerPlainPage } from "../page.ts";

const TITLE = "Choose a new password";

export function mountResetPasswordPage(site: Hono<WebEnv>, deps: WebDeps): void {
	site.get("/reset-password", async (c) => {
		const token = c.req.query("token") ?? "";
		const found = await findResetLink(deps, token);
		return found.ok ? showForm(c, token) : showDeadLink(c, found.fault);
	});
	site.post("/reset-password", async (c) => {
		const { token, password } = await readTextFields(c, ["token", "password"]);
		const reset = await resetPassword(deps, token, password, c.get("visitor"));
		if (reset.ok) {
			setFlash(c, "good", "Your password is changed. Sign in with the new one.");
			return c.redirect("/sign-in", 303);
		}
		return reset.fault.code === "link_not_valid"
			? showDeadLink(c, reset.fault)
			: showForm(c, token, reset.fault);
	});
}

function showForm(c: WebContext, token: string, fault?: Fault): Promise<Response> {
	const isAboutPassword = fault?.field === "password";
	const fields = html`
		<input type="hidden" name="token" value="${token}">
		${textField({
			name: "password",
			label: "New password",
			type: "password",
			autocomplete: "new-password",
			hint: `At least ${MIN_PASSWORD_LENGTH} characters.`,
			isRequired: true,
			error: isAboutPassword ? fault.detail : undefined,
		})}
		${button({ label: "Change password", tone: "primary", isWide: true })}`;
	const body = html`<div class="stack">
		<h1>${TITLE}</h1>
		${fault === undefined || isAboutPassword ? null : message("bad", fault.detail)}
		${postForm({ action: "/reset-password", csrf: csrfField(c), body: fields })}
	</div>`;
	return answerPlainPage(c, { title: TITLE, status: fault?.httpStatus ?? 200, body });
}

function showDeadLink(c: WebContext, { detail, httpStatus }: Fault): Promise<Response> {
	const body = html`<div class="stack">
		<h1>${TITLE}</h1>
		<p>${detail}</p>
		<p>${linkButton({ label: "Ask for a new link", href: "/forgot-password", tone: "primary" })}</p>
	</div>`;
	return answerPlainPage(c, { title: TITLE, status: httpStatus, body });
}
