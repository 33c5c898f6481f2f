// /account: the page that all three parts of an account stand on.

import { html } from "hono/html";
import { type AuthSession, MIN_PASSWORD_LENGTH } from "../../accounts/auth.ts";
import type { Fault } from "../../domain/fault.ts";
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
	const own = sessions.find(({ id }) => id === c.get("sessionId"));
	const faultOf = (form: AccountFault["form"]) => (wrong?.form === form ? wrong.fault : undefined);
	return answerPage(c, {
		title: "Account",
		active: "account",
		status: wrong?.fault.httpStatus ?? 200,
		body: html`${pageHeader({ title: "Account", hint: name === "" ? email : `${name}, ${email}` })}
			<div class="stack">
				<div class="columns">
					${passwordSection(c, faultOf("password"))}
					${authenticatorSection(c, own?.hasAuthenticator === true, faultOf("authenticator"))}
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

function authenticatorSection(c: WebContext, isOn: boolean, fault: Fault | undefined): Html {
	const wrong =
		fault === undefined || fault.field === "currentPassword" ? null : message("bad", fault.detail);
	const action = isOn ? "/account/authenticator/off" : "/account/authenticator";
	const fields = html`
		${currentPasswordField("authenticator-current", fault?.field === "currentPassword" ? fault.detail : undefined)}
		<div>${isOn ? button({ label: "Turn off", tone: "danger", confirm: "Sign in with the password alone from now on?" }) : button({ label: "Set up" })}</div>`;
	return section({
		id: "authenticator",
		title: "Authenticator",
		hint: "With it, signing in also needs a code from an app on your phone.",
		actions: isOn ? badge("good", "On") : badge("plain", "Off"),
		body: padded(wrong, postForm({ action, csrf: csrfField(c), body: fields })),
	});
}

function currentPasswordField(id: string, error: string | undefined): Html {
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
		hint: "A session ends after seven days without use.",
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
