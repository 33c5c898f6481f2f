// /sign-in: e-mail and password.

import type { Hono } from "hono";
import { html } from "hono/html";
import { signIn } from "../../accounts/sign-in.ts";
import type { Fault } from "../../domain/fault.ts";
import { message } from "../components/blocks.ts";
import { button, postForm, textField } from "../components/forms.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext, WebEnv } from "../env.ts";
import { readTextFields } from "../form.ts";
import { answerPlainPage, ownPath } from "../page.ts";
import { handOnCookies } from "../session.ts";

interface SignInForm {
	email: string;
	/** Where they wanted to go; empty for the start. */
	next: string;
	fault?: Fault;
}

export function mountSignInPage(site: Hono<WebEnv>, deps: WebDeps): void {
	site.get("/sign-in", async (c) => {
		const next = ownPath(c.req.query("next")) ?? "";
		if (c.get("viewer") !== null) return c.redirect(next === "" ? "/" : next, 303);
		return showForm(c, { email: "", next });
	});
	site.post("/sign-in", async (c) => {
		const { email, password, next: asked } = await readTextFields(c, ["email", "password", "next"]);
		const next = ownPath(asked) ?? "";
		const signedIn = await signIn(deps, { email, password }, c.get("visitor"));
		if (!signedIn.ok) return showForm(c, { email, next, fault: signedIn.fault });
		handOnCookies(c, signedIn.value.setCookies);
		if (signedIn.value.next === "home") return c.redirect(next === "" ? "/" : next, 303);
		return c.redirect(next === "" ? "/sign-in/code" : `/sign-in/code?next=${encodeURIComponent(next)}`, 303);
	});
}

function showForm(c: WebContext, { email, next, fault }: SignInForm): Promise<Response> {
	const fields = html`
		<input type="hidden" name="next" value="${next}">
		${textField({ name: "email", label: "Email", type: "email", value: email, autocomplete: "username", isRequired: true })}
		${textField({ name: "password", label: "Password", type: "password", autocomplete: "current-password", isRequired: true })}
		${button({ label: "Sign in", tone: "primary", isWide: true })}`;
	const body = html`<div class="stack">
		<h1>Sign in</h1>
		${fault === undefined ? null : message("bad", fault.detail)}
		${postForm({ action: "/sign-in", csrf: csrfField(c), body: fields })}
		<p class="small"><a href="/forgot-password">Forgot your password?</a> · <a href="/docs">Documentation for developers</a></p>
	</div>`;
	return answerPlainPage(c, { title: "Sign in", status: fault?.httpStatus ?? 200, body });
}
