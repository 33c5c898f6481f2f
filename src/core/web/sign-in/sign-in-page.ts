// Handles signing in and out. /sign-in asks for the email address and the password, /sign-in/code asks for the code of
// an authenticator, and /forgot-password sends a link by mail.

import { isExecutable, OWN_COMMAND } from "../../../shipped-files.ts";
import type { CompanySignIn } from "../../people/deps.ts";
import { requestPasswordReset } from "../../people/passwords.ts";
import { confirmSignIn, signIn, signOut } from "../../people/sign-in.ts";
import { hasStaffWithPassword } from "../../store/queries/passwords.ts";
import { declareForm, type FormField, HIDDEN } from "../form.ts";
import { actorOf, answerPlainPage, handOnCookies, leadTo, type WebContext, type WebDeps } from "../page.ts";
import * as paths from "../paths.ts";
import { ownPath, SIGN_IN_PATH, START_PATH, withNext } from "../paths.ts";
import { button, codeBlock, type Html, html, linkButton, message } from "../ui.ts";

const EMAIL: FormField = { label: "Email", type: "email", autocomplete: "username", isRequired: true };

const SIGN_IN_FORM = declareForm({
	/** Path of the page that the visitor requested. Empty for the start page. */
	next: HIDDEN,
	email: EMAIL,
	password: { label: "Password", type: "password", autocomplete: "current-password", isRequired: true },
});
const CODE_FORM = declareForm({
	next: HIDDEN,
	code: {
		label: "Code",
		hint: "The six digits your authenticator shows now, or one of your backup codes.",
		autocomplete: "one-time-code",
		isMono: true,
		isRequired: true,
	},
});
const FORGOT_FORM = declareForm({ email: EMAIL });

export function wideButton(label: string): Html {
	return button({ label, tone: "primary", isWide: true });
}

const FIRST_START = message(
	"info",
	html`<strong>There is no account yet.</strong> When Ringback started, it printed a one-time link in its terminal or log. Open that link to create the first account. It works for 24 hours; restart the service to get a new one.`,
);

export function showStart(c: WebContext): Response {
	return c.redirect(c.get("viewer") === null ? SIGN_IN_PATH : paths.PROGRAMMES_PATH, 303);
}

export async function showSignIn(c: WebContext, deps: WebDeps): Promise<Response> {
	const next = ownPath(c.req.query("next")) ?? "";
	if (c.get("viewer") !== null) return c.redirect(next || START_PATH, 303);
	return answerSignIn(c, deps, next, (await hasStaffWithPassword(deps.store.db)) ? null : FIRST_START);
}

export async function submitSignIn(c: WebContext, deps: WebDeps): Promise<Response> {
	const { email, password, next: asked } = await SIGN_IN_FORM.read(c);
	const next = ownPath(asked) ?? "";
	const signedIn = await signIn(deps, { email, password }, c.get("visitor"));
	if (!signedIn.ok)
		return SIGN_IN_FORM.refuse(c, signedIn, () => answerSignIn(c, deps, next), { email, next });
	handOnCookies(c, signedIn.value.setCookies);
	const path = signedIn.value.next === "home" ? next || START_PATH : withNext(paths.CODE_PATH, next);
	return c.redirect(path, 303);
}

export async function leave(c: WebContext, deps: WebDeps): Promise<Response> {
	if (c.get("viewer") !== null) handOnCookies(c, await signOut(deps, actorOf(c), c.get("visitor")));
	return c.redirect(SIGN_IN_PATH, 303);
}

function answerSignIn(
	c: WebContext,
	{ companySignIn }: WebDeps,
	next: string,
	above: Html | null = null,
): Promise<Response> {
	return answerPlainPage(c, {
		title: "Sign in",
		body: html`${above}${companySignIn === null ? null : companyButton(companySignIn, next)}${SIGN_IN_FORM.show(c, { action: SIGN_IN_PATH, values: { next }, send: wideButton("Sign in") })}
		<p class="small"><a href="${paths.FORGOT_PASSWORD_PATH}">Forgot your password?</a> · <a href="${paths.DOCS_PATH}">Documentation</a></p>`,
	});
}

/**
 * Returns the button for the company's account. It is a link and not a form, because the content security policy
 * does not let a form lead to another site.
 */
function companyButton(companySignIn: CompanySignIn, next: string): Html {
	const { label } = companySignIn;
	const href = withNext(paths.COMPANY_SIGN_IN_PATH, next);
	return html`<p>${linkButton({ label, href, tone: "primary", isWide: true })}</p>
		<p class="small soft">${sayWhoseButton(companySignIn)}</p>`;
}

function sayWhoseButton({ isRequiredForStaff, isForEveryone }: CompanySignIn): string {
	if (isForEveryone && !isRequiredForStaff) return "Or sign in with your password.";
	const staff = isRequiredForStaff
		? "The network's staff sign in with this button."
		: "This button is for the network's staff.";
	return `${staff} Everybody else ${isForEveryone ? "can also use their password" : "signs in with a password"}.`;
}

export async function showCodeForm(c: WebContext): Promise<Response> {
	if (c.get("viewer") !== null) return c.redirect(START_PATH, 303);
	return answerCodeForm(c, ownPath(c.req.query("next")) ?? "");
}

export async function enterCode(c: WebContext, deps: WebDeps): Promise<Response> {
	const { code, next: asked } = await CODE_FORM.read(c);
	const next = ownPath(asked) ?? "";
	// A visitor who is already signed in needs no code.
	if (c.get("viewer") !== null) return c.redirect(START_PATH, 303);
	const confirmed = await confirmSignIn(deps, code, c.get("visitor"));
	if (!confirmed.ok) {
		const canTryAgain = ["wrong_code", "too_many_attempts"].includes(confirmed.fault.code);
		if (!canTryAgain) return leadTo(c, SIGN_IN_PATH, confirmed.fault.detail, "bad");
		return CODE_FORM.refuse(c, confirmed, () => answerCodeForm(c, next), { next });
	}
	handOnCookies(c, confirmed.value.setCookies);
	return c.redirect(next || START_PATH, 303);
}

function answerCodeForm(c: WebContext, next: string): Promise<Response> {
	return answerPlainPage(c, {
		title: "Enter your code",
		body: html`${CODE_FORM.show(c, { action: paths.CODE_PATH, values: { next }, send: wideButton("Continue") })}
		<p class="small"><a href="${SIGN_IN_PATH}">Start over</a></p>
		<p class="small soft">Did you lose your phone and your backup codes? Nobody can switch the authenticator off for you. Ask an owner of your programme, or the network's staff, to invite you under another email address. Are you on the staff? Ask a colleague to deactivate your account and invite you again.</p>`,
	});
}

const TITLE = "Choose a new password";

export function showForgotPassword(c: WebContext, { mails }: WebDeps): Promise<Response> {
	const form = () =>
		FORGOT_FORM.show(c, { action: paths.FORGOT_PASSWORD_PATH, send: wideButton("Send the link") });
	return answerPlainPage(c, {
		title: TITLE,
		body: mails.isOn
			? html`<p>We send you a link to choose a new password.</p>${form()}
		<p class="small"><a href="${SIGN_IN_PATH}">Go to sign-in</a></p>`
			: WITHOUT_MAIL,
	});
}

/**
 * Mails a link to choose a new password. The response is the same for every address, so it does not reveal
 * who has an account.
 */
export async function requestLink(c: WebContext, deps: WebDeps): Promise<Response> {
	if (!deps.mails.isOn) return showForgotPassword(c, deps);
	const { email } = await FORGOT_FORM.read(c);
	const asked = await requestPasswordReset(deps, email, c.get("visitor"));
	if (!asked.ok) return FORGOT_FORM.refuse(c, asked, () => showForgotPassword(c, deps));
	return answerPlainPage(c, {
		title: TITLE,
		heading: "Check your inbox",
		body: html`<p>If <strong class="break">${email}</strong> has an account, a link is on its way there. It works once, for one hour.</p>
	<p>No mail? Check your spam folder and the address, or ask the network's staff for a link.</p>
	<p>${TO_SIGN_IN}</p>`,
	});
}

const TO_SIGN_IN = linkButton({ label: "Go to sign-in", href: SIGN_IN_PATH });

/**
 * Command that creates a link. It is shown without its path, because strangers must not learn details about
 * the machine.
 */
const LINK_COMMAND = `${OWN_COMMAND} user link --email you@example.com`;

const WITHOUT_MAIL = html`<p>This service cannot send mail. Ask the network's staff: they can create a link for you to choose a new password.</p>
	<p>If no staff member can sign in, the operator creates a link with this command, on the service's machine${isExecutable ? "" : ", in its folder"} and with its settings:</p>
	${codeBlock(LINK_COMMAND, "the command")}
	<p>${TO_SIGN_IN}</p>`;
