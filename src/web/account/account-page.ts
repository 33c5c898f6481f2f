// /account: one's own settings, the address, the password, the authenticator and the sessions on one page.

import { html } from "hono/html";
import { MIN_PASSWORD_LENGTH } from "../../accounts/auth.ts";
import type { SettingsInput } from "../../accounts/own-settings.ts";
import { withPasswordLimit } from "../../accounts/password-limits.ts";
import { changePassword } from "../../accounts/passwords.ts";
import { makeConfirmationCookie, makeDeviceCookie } from "../../accounts/signed-cookies.ts";
import { isAuthenticatorRequired } from "../../domain/authenticator.ts";
import { sayWhatEnded } from "../../domain/ended-access.ts";
import type { Fault } from "../../domain/fault.ts";
import { findPersonById } from "../../store/people.ts";
import { padded, pageHeader, section } from "../components/blocks.ts";
import { button, postForm, textField } from "../components/forms.ts";
import { badge } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import { setFlash } from "../flash.ts";
import { placeFault, readTextFields } from "../form.ts";
import type { Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { ACCOUNT_PATH, AUTHENTICATOR_PATH } from "../paths.ts";
import { handOnCookies } from "../session.ts";
import { makerOf, viewerOf } from "../viewer.ts";
import { signInOf } from "./enter-password-page.ts";
import { emailSection, settingsSection } from "./own-settings-sections.ts";
import { currentPasswordField } from "./password-field.ts";
import { sessionsSection } from "./sessions.ts";

/** Which form of the page the fault is about. */
export interface AccountFault {
	form: "settings" | "email" | "password" | "authenticator";
	fault: Fault;
	/** As sent, of the first two. */
	typed?: Partial<SettingsInput & { email: string }>;
}

export async function showAccount(c: WebContext, deps: WebDeps, wrong?: AccountFault): Promise<Response> {
	const { email, name, personId } = viewerOf(c);
	const self = await findPersonById(deps.store.db, personId);
	if (self === undefined) throw new Error("a session without a person");
	const sessions = await deps.auth.listSessions(c.get("visitor"));
	const faultOf = (form: AccountFault["form"]) => (wrong?.form === form ? wrong.fault : undefined);
	return answerPage(c, {
		title: "Account",
		active: "account",
		status: wrong?.fault.httpStatus ?? 200,
		body: html`${pageHeader({ title: "Account", hint: name === "" ? email : `${name}, ${email}` })}
			<div class="stack">
				${settingsSection(c, self, faultOf("settings"), wrong?.typed)}
				${emailSection(c, deps, self, faultOf("email"), wrong?.typed?.email)}
				<div class="columns">
					${passwordSection(c, faultOf("password"))}
					${authenticatorSection(c, deps, faultOf("authenticator"))}
				</div>
				${sessionsSection(c, sessions)}
			</div>`,
	});
}

export async function changeOwnPassword(c: WebContext, deps: WebDeps): Promise<Response> {
	const change = await readTextFields(c, ["currentPassword", "newPassword"]);
	const { email } = viewerOf(c);
	const visitor = c.get("visitor");
	const changed = await withPasswordLimit(deps, email, visitor, () =>
		changePassword(deps, makerOf(c), change, visitor),
	);
	if (!changed.ok) return showAccount(c, deps, { form: "password", fault: changed.fault });
	handOnCookies(c, changed.value.setCookies);
	// The new password ended both of them; this browser is the person's own, and both passwords were given here.
	handOnCookies(c, [await makeDeviceCookie(deps, email), await makeConfirmationCookie(deps, signInOf(c))]);
	const said = sayWhatEnded(changed.value.ended);
	setFlash(c, "good", `Your password is changed.${said === null ? "" : ` ${said}.`}`);
	return c.redirect(ACCOUNT_PATH, 303);
}

function passwordSection(c: WebContext, fault: Fault | undefined): Html {
	const { at, above } = placeFault(fault, ["currentPassword", "password"]);
	const fields = html`
		${currentPasswordField("password-current", at("currentPassword"))}
		${textField({
			name: "newPassword",
			label: "New password",
			type: "password",
			autocomplete: "new-password",
			hint: `At least ${MIN_PASSWORD_LENGTH} characters. You stay signed in here, and are signed out everywhere else.`,
			isRequired: true,
			error: at("password"),
		})}
		<div>${button({ label: "Change password", tone: "primary" })}</div>`;
	return section({
		id: "password",
		title: "Password",
		body: padded(above, postForm({ action: `${ACCOUNT_PATH}/password`, csrf: csrfField(c), body: fields })),
	});
}

function authenticatorSection(c: WebContext, deps: WebDeps, fault: Fault | undefined): Html {
	const { hasAuthenticator, kind } = viewerOf(c);
	const { at, above } = placeFault(fault, ["currentPassword", "code"]);
	const password = currentPasswordField("authenticator-current", at("currentPassword"));
	const isRequired = isAuthenticatorRequired(deps.staffAuthenticator, kind);
	const on = isRequired ? REPLACE : TURN_OFF;
	const form = hasAuthenticator
		? proofForm(c, on, html`${password}${codeField(at("code"))}`)
		: setUpForm(c, password);
	return section({
		id: "authenticator",
		title: "Authenticator",
		hint: "With it, signing in also needs a code from an app on your phone.",
		actions: hasAuthenticator ? badge("good", "On") : badge("plain", "Off"),
		body: padded(
			above,
			hasAuthenticator && isRequired
				? html`<p>Staff of this network must have an authenticator. You can move it to a new phone, but not turn it off.</p>`
				: null,
			form,
		),
	});
}

/** Also for the page that staff are led to who must have one. */
export function setUpForm(c: WebContext, password: Html): Html {
	const fields = html`${password}<div>${button({ label: "Set up", tone: "primary" })}</div>`;
	return postForm({ action: AUTHENTICATOR_PATH, csrf: csrfField(c), body: fields });
}

const TURN_OFF = {
	action: `${AUTHENTICATOR_PATH}/off`,
	label: "Turn off",
	confirm: "Sign in with the password alone from now on?",
};
const REPLACE = {
	action: `${AUTHENTICATOR_PATH}/replace`,
	label: "Set up on a new phone",
	confirm: "Remove the present authenticator and set up a new one?",
};

/** For what takes the authenticator away. */
function proofForm(
	c: WebContext,
	{ action, label, confirm }: { action: string; label: string; confirm: string },
	proof: Html,
): Html {
	const fields = html`${proof}<div>${button({ label, tone: "danger", confirm })}</div>`;
	return postForm({ action, csrf: csrfField(c), body: fields });
}

function codeField(error: string | undefined): Html {
	return textField({
		id: "authenticator-code",
		name: "code",
		label: "Code",
		hint: "The six digits the app shows now, or a backup code.",
		autocomplete: "one-time-code",
		isMono: true,
		isRequired: true,
		error,
	});
}
