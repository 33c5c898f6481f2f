// Signing in, in its two steps, and out again. /sign-in: e-mail and password. /sign-in/code: the second step for those
// who have an authenticator.

import { html } from "hono/html";
import { confirmSignIn, signIn, signOut } from "../../accounts/sign-in.ts";
import type { Fault } from "../../domain/fault.ts";
import { hasStaffWithPassword } from "../../store/sign-in.ts";
import { message } from "../components/blocks.ts";
import { button, postForm, textField } from "../components/forms.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import { answerPlainPage } from "../page.ts";
import {
	CODE_PATH,
	DOCS_PATH,
	FORGOT_PASSWORD_PATH,
	ownPath,
	PROGRAMMES_PATH,
	SIGN_IN_PATH,
	START_PATH,
	withNext,
} from "../paths.ts";
import { handOnCookies } from "../session.ts";

interface SignInForm {
	email: string;
	/** Where they wanted to go; empty for the start. */
	next: string;
	/** Nobody has an account yet. */
	isFirstStart?: boolean;
	fault?: Fault;
}

const FIRST_START = message(
	"info",
	html`<strong>Nobody can sign in yet.</strong> When Ringback started, it printed a one-time link in its terminal or log. Open that link to create the first account. It works for 24 hours; restart the service to get a new one.`,
);

export function showStart(c: WebContext): Response {
	return c.redirect(c.get("viewer") === null ? SIGN_IN_PATH : PROGRAMMES_PATH, 303);
}

export async function showSignIn(c: WebContext, { store }: WebDeps): Promise<Response> {
	const next = ownPath(c.req.query("next")) ?? "";
	if (c.get("viewer") !== null) return c.redirect(next || START_PATH, 303);
	const isFirstStart = !(await hasStaffWithPassword(store.db));
	return answerSignIn(c, { email: "", next, isFirstStart });
}

export async function takeIn(c: WebContext, deps: WebDeps): Promise<Response> {
	const { email, password, next: asked } = await readTextFields(c, ["email", "password", "next"]);
	const next = ownPath(asked) ?? "";
	const signedIn = await signIn(deps, { email, password }, c.get("visitor"));
	if (!signedIn.ok) return answerSignIn(c, { email, next, fault: signedIn.fault });
	handOnCookies(c, signedIn.value.setCookies);
	return c.redirect(signedIn.value.next === "home" ? next || START_PATH : withNext(CODE_PATH, next), 303);
}

export async function leave(c: WebContext, deps: WebDeps): Promise<Response> {
	const viewer = c.get("viewer");
	if (viewer !== null) handOnCookies(c, await signOut(deps, viewer.personId, c.get("visitor")));
	return c.redirect(SIGN_IN_PATH, 303);
}

function answerSignIn(c: WebContext, form: SignInForm): Promise<Response> {
	const { email, next, isFirstStart = false, fault } = form;
	const fields = html`
		<input type="hidden" name="next" value="${next}">
		${textField({ name: "email", label: "Email", type: "email", value: email, autocomplete: "username", isRequired: true })}
		${textField({ name: "password", label: "Password", type: "password", autocomplete: "current-password", isRequired: true })}
		${button({ label: "Sign in", tone: "primary", isWide: true })}`;
	return answerPlainPage(c, {
		title: "Sign in",
		status: fault?.httpStatus ?? 200,
		body: html`${isFirstStart ? FIRST_START : null}${fault === undefined ? null : message("bad", fault.detail)}
		${postForm({ action: SIGN_IN_PATH, csrf: csrfField(c), body: fields })}
		<p class="small"><a href="${FORGOT_PASSWORD_PATH}">Forgot your password?</a> · <a href="${DOCS_PATH}">Documentation for developers</a></p>`,
	});
}

export async function showCodeForm(c: WebContext): Promise<Response> {
	if (c.get("viewer") !== null) return c.redirect(START_PATH, 303);
	return answerCodeForm(c, ownPath(c.req.query("next")) ?? "");
}

export async function enterCode(c: WebContext, deps: WebDeps): Promise<Response> {
	const { code, next: asked } = await readTextFields(c, ["code", "next"]);
	const next = ownPath(asked) ?? "";
	// Somebody with a session would be asked about that one instead of the sign-in under way.
	if (c.get("viewer") !== null) return c.redirect(START_PATH, 303);
	const confirmed = await confirmSignIn(deps, code, c.get("visitor"));
	if (confirmed.ok) {
		handOnCookies(c, confirmed.value.setCookies);
		return c.redirect(next || START_PATH, 303);
	}
	const { fault } = confirmed;
	if (fault.code === "wrong_code" || fault.code === "too_many_attempts")
		return answerCodeForm(c, next, fault);
	setFlash(c, "bad", fault.detail);
	return c.redirect(SIGN_IN_PATH, 303);
}

function answerCodeForm(c: WebContext, next: string, fault?: Fault): Promise<Response> {
	const fields = html`
		<input type="hidden" name="next" value="${next}">
		${textField({
			name: "code",
			label: "Code",
			hint: "The six digits your authenticator shows now, or one of your backup codes.",
			autocomplete: "one-time-code",
			isMono: true,
			isRequired: true,
			error: fault?.detail,
		})}
		${button({ label: "Continue", tone: "primary", isWide: true })}`;
	return answerPlainPage(c, {
		title: "Enter your code",
		status: fault?.httpStatus ?? 200,
		body: html`${postForm({ action: CODE_PATH, csrf: csrfField(c), body: fields })}
		<p class="small"><a href="${SIGN_IN_PATH}">Start over</a></p>`,
	});
}
