// /account/enter-password: asks for the password again before the account opens, when the sign-in is more than a day old.

import type { MiddlewareHandler } from "hono";
import { getCookie } from "hono/cookie";
import { confirmPassword } from "../../people/passwords.ts";
import { confirmationCookieName, isPasswordRecent, type SignInMoment } from "../../people/signed-cookies.ts";
import { declareForm, HIDDEN } from "../form.ts";
import { answerPage, handOnCookies, viewerOf, type WebContext, type WebDeps, type WebEnv } from "../page.ts";
import { ACCOUNT_PATH, ENTER_PASSWORD_PATH, FORGOT_PASSWORD_PATH, ownPath, withNext } from "../paths.ts";
import { card, html, pageHeader } from "../ui.ts";

const FORM = declareForm({
	next: HIDDEN,
	currentPassword: {
		label: "Password",
		type: "password",
		autocomplete: "current-password",
		isRequired: true,
		hasFocus: true,
	},
});

/** A form is not kept: after the password they are at the account, where they can send it again. */
export function requireRecentPassword(deps: WebDeps): MiddlewareHandler<WebEnv> {
	return async (c, next) => {
		if (await hasRecentPassword(c, deps)) return next();
		if (c.req.method !== "GET") return c.redirect(ENTER_PASSWORD_PATH, 303);
		const { pathname, search } = new URL(c.req.url);
		return c.redirect(withNext(ENTER_PASSWORD_PATH, `${pathname}${search}`), 303);
	};
}

export async function showEnterPassword(c: WebContext, deps: WebDeps): Promise<Response> {
	const next = accountPath(c.req.query("next"));
	return (await hasRecentPassword(c, deps)) ? c.redirect(next, 303) : showForm(c, next);
}

export async function enterPassword(c: WebContext, deps: WebDeps): Promise<Response> {
	const { currentPassword, next: asked } = await FORM.read(c);
	const next = accountPath(asked);
	const confirmed = await confirmPassword(deps, signInOf(c), currentPassword, c.get("visitor"));
	if (!confirmed.ok) return FORM.refuse(c, confirmed, () => showForm(c, next), { next });
	handOnCookies(c, [confirmed.value]);
	return c.redirect(next, 303);
}

export function signInOf(c: WebContext): SignInMoment {
	const signedInAtMs = c.get("signedInAtMs");
	if (signedInAtMs === null) throw new Error("a page that is not behind the sign-in");
	return { email: viewerOf(c).email, signedInAtMs };
}

async function hasRecentPassword(c: WebContext, deps: WebDeps): Promise<boolean> {
	const cookie = getCookie(c, confirmationCookieName(deps.publicUrl)) ?? "";
	return isPasswordRecent(deps, signInOf(c), cookie);
}

/** As a browser would read it, dots resolved: a link must not choose another place to land. */
function accountPath(text: string | undefined): string {
	const own = ownPath(text);
	if (own === null) return ACCOUNT_PATH;
	const { pathname, search } = new URL(own, "http://localhost");
	const isBelow = pathname === ACCOUNT_PATH || pathname.startsWith(`${ACCOUNT_PATH}/`);
	return isBelow ? `${pathname}${search}` : ACCOUNT_PATH;
}

function showForm(c: WebContext, next: string): Promise<Response> {
	const title = "Enter your password to continue";
	const hint = "You signed in more than a day ago. Enter your password again to open your account.";
	return answerPage(c, {
		title,
		active: "account",
		body: html`${pageHeader({ title, hint })}${card(
			FORM.show(c, { action: ENTER_PASSWORD_PATH, values: { next }, send: "Continue" }),
			html`<p class="small"><a href="${FORGOT_PASSWORD_PATH}">Forgot your password?</a></p>`,
		)}`,
	});
}
