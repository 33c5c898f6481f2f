// /account: the page that all three parts of an account stand on.

import { html } from "hono/html";
import { type AuthSession, IDLE_SESSION_DAYS, MIN_PASSWORD_LENGTH } from "../../accounts/auth.ts";
import type { Fault } from "../../domain/fault.ts";
import { isAuthenticatorRequired } from "../../domain/staff-authenticator.ts";
import { MAX_SESSION_DAYS } from "../../store/sign-in.ts";
import { SET_UP_PATH } from "../access.ts";
import { message, padded, pageHeader, section } from "../components/blocks.ts";
import { button, postForm, textField } from "../components/forms.ts";
import { dataTable } from "../components/lists.ts";
import { badge, timeTag } from "../components/text.ts";
import { csrfField } from "../csrf.ts";
import type { WebDeps } from "../deps.ts";
import type { WebContext } from "../env.ts";
import type { Content, Html } from "../html.ts";
import { answerPage } from "../page.ts";
import { viewerOf } from "../viewer.ts";
import { describeBrowser } from "./browser-name.ts";

/** Which form of the page the fault is about. */
export interface AccountFault {
	form: "password" | "authenticator";
	fault: Fault;
}

export async function showAccount(c: WebContext, deps: WebDeps, wrong?: AccountFault): Promise<Response> {
	const { email, name } = viewerOf(c);
	const sessions = await deps.auth.listSessions(c.get("visitor"));
	const faultOf = (form: AccountFault["form"]) => (wrong?.form === form ? wrong.fault : undefined);
	return answerPage(c, {
		title: "Account",
		active: "account",
		status: wrong?.fault.httpStatus ?? 200,
		body: html`${pageHeader({ title: "Account", hint: name === "" ? email : `${name}, ${email}` })}
			<div class="stack">
				<div class="columns">
					${passwordSection(c, faultOf("password"))}
					${authenticatorSection(c, deps, faultOf("authenticator"))}
				</div>
				${sessionsSection(c, sessions)}
			</div>`,
	});
}

function passwordSection(c: WebContext, fault: Fault | undefined): Html {
	const fields = html`
		${currentPasswordField("password-current", fault?.field === "currentPassword" ? fault.detail : undefined)}
		${textField({
			name: "newPassword",
			label: "New password",
			type: "password",
			autocomplete: "new-password",
			hint: `At least ${MIN_PASSWORD_LENGTH} characters. You stay signed in here, and are signed out everywhere else.`,
			isRequired: true,
			error: fault?.field === "password" ? fault.detail : undefined,
		})}
		<div>${button({ label: "Change password", tone: "primary" })}</div>`;
	return section({
		id: "password",
		title: "Password",
		body: padded(
			fault === undefined || fault.field !== undefined ? null : message("bad", fault.detail),
			postForm({ action: "/account/password", csrf: csrfField(c), body: fields }),
		),
	});
}

function authenticatorSection(c: WebContext, deps: WebDeps, fault: Fault | undefined): Html {
	const { hasAuthenticator, role } = viewerOf(c);
	const atField = (field: string) => (fault?.field === field ? fault.detail : undefined);
	const isAtField = ["currentPassword", "code"].includes(fault?.field ?? "");
	const password = currentPasswordField("authenticator-current", atField("currentPassword"));
	const isRequired = isAuthenticatorRequired(deps.staffAuthenticator, role);
	const on = isRequired ? REPLACE : TURN_OFF;
	const form = hasAuthenticator
		? proofForm(c, on, html`${password}${codeField(atField("code"))}`)
		: setUpForm(c, password);
	return section({
		id: "authenticator",
		title: "Authenticator",
		hint: "With it, signing in also needs a code from an app on your phone.",
		actions: hasAuthenticator ? badge("good", "On") : badge("plain", "Off"),
		body: padded(
			fault === undefined || isAtField ? null : message("bad", fault.detail),
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
	return postForm({ action: SET_UP_PATH, csrf: csrfField(c), body: fields });
}

const TURN_OFF = {
	action: "/account/authenticator/off",
	label: "Turn off",
	confirm: "Sign in with the password alone from now on?",
};
const REPLACE = {
	action: "/account/authenticator/replace",
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

export function currentPasswordField(id: string, error: string | undefined): Html {
	return textField({
		id,
		name: "currentPassword",
		label: "Current password",
		type: "password",
		autocomplete: "current-password",
		isRequired: true,
		error,
	});
}

function sessionsSection(c: WebContext, sessions: readonly AuthSession[]): Html {
	const ownId = c.get("sessionId");
	const others = sessions.filter(({ id }) => id !== ownId);
	const endOthers = postForm({
		action: "/account/sessions/end-others",
		csrf: csrfField(c),
		className: "row",
		body: button({ label: "End all others", isSmall: true }),
	});
	return section({
		id: "sessions",
		title: "Where you are signed in",
		hint: `A session ends after ${IDLE_SESSION_DAYS} days without use, and ${MAX_SESSION_DAYS} days after signing in.`,
		...(others.length === 0 ? {} : { actions: endOthers }),
		body: dataTable<AuthSession>({
			caption: "Sessions",
			rows: sessions,
			stacks: true,
			empty: null,
			columns: [
				{ title: "Browser", namesRow: true, cell: ({ userAgent }) => describeBrowser(userAgent) },
				{ title: "Address", cell: ({ address }) => html`<span class="mono">${address}</span>` },
				{ title: "Signed in", cell: ({ createdAtMs }) => timeTag(createdAtMs) },
				{
					title: "End it",
					isTitleHidden: true,
					isNumber: true,
					cell: (session) => (session.id === ownId ? badge("info", "This one") : endForm(c, session)),
				},
			],
		}),
	});
}

function endForm(c: WebContext, { id, userAgent }: AuthSession): Content {
	return postForm({
		action: "/account/sessions/end",
		csrf: csrfField(c),
		className: "row",
		body: html`<input type="hidden" name="sessionId" value="${id}">${button({
			label: "End",
			isSmall: true,
			ariaLabel: `End the session of ${describeBrowser(userAgent)}`,
		})}`,
	});
}
