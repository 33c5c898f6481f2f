// /sign-in/code: the second step for those who have an authenticator.

import { html } from "hono/html";
import { confirmSignIn } from "../../accounts/sign-in.ts";
import type { Fault } from "../../domain/fault.ts";
import { button, postForm, textField } from "../components/forms.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { setFlash } from "../flash.ts";
import { readTextFields } from "../form.ts";
import { answerPlainPage } from "../page.ts";
import { CODE_PATH, ownPath, SIGN_IN_PATH, START_PATH } from "../paths.ts";
import { handOnCookies } from "../session.ts";

export async function showCodeForm(c: WebContext): Promise<Response> {
	if (c.get("viewer") !== null) return c.redirect(START_PATH, 303);
	return showForm(c, ownPath(c.req.query("next")) ?? "");
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
	if (fault.code === "wrong_code" || fault.code === "too_many_attempts") return showForm(c, next, fault);
	setFlash(c, "bad", fault.detail);
	return c.redirect(SIGN_IN_PATH, 303);
}

function showForm(c: WebContext, next: string, fault?: Fault): Promise<Response> {
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
	const body = html`<div class="stack">
		<h1>Enter your code</h1>
		${postForm({ action: CODE_PATH, csrf: csrfField(c), body: fields })}
		<p class="small"><a href="${SIGN_IN_PATH}">Begin again</a></p>
	</div>`;
	return answerPlainPage(c, { title: "Enter your code", status: fault?.httpStatus ?? 200, body });
}
