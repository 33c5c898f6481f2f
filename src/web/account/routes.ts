// A person's own account: their settings, their address, their password, where they are signed in, their authenticator.

import { ACCOUNT_PATH, AUTHENTICATOR_PATH, ENTER_PASSWORD_PATH } from "../paths.ts";
import type { Route } from "../routes.ts";
import { changeOwnPassword, showAccount } from "./account-page.ts";
import {
	beginSetUp,
	confirmSetUp,
	replaceAuthenticator,
	showSetUp,
	turnOffAuthenticator,
} from "./authenticator-page.ts";
import { enterPassword, showEnterPassword } from "./enter-password-page.ts";
import { askForEmail, saveSettings } from "./own-settings-actions.ts";
import { endOtherSessions, endSession } from "./sessions.ts";

const PASSWORD = `${ACCOUNT_PATH}/password`;
const SESSIONS = `${ACCOUNT_PATH}/sessions`;

export const ACCOUNT_ROUTES: readonly Route[] = [
	{ method: "GET", path: ACCOUNT_PATH, access: "account", answer: showAccount },
	{ method: "POST", path: `${ACCOUNT_PATH}/settings`, access: "account", answer: saveSettings },
	{ method: "POST", path: `${ACCOUNT_PATH}/email`, access: "account", answer: askForEmail },
	{ method: "POST", path: PASSWORD, access: "account", answer: changeOwnPassword },
	{ method: "POST", path: `${SESSIONS}/end`, access: "account", answer: endSession },
	{ method: "POST", path: `${SESSIONS}/end-others`, access: "account", answer: endOtherSessions },
	{ method: "GET", path: ENTER_PASSWORD_PATH, access: "account-password", answer: showEnterPassword },
	{ method: "POST", path: ENTER_PASSWORD_PATH, access: "account-password", answer: enterPassword },
	{ method: "GET", path: AUTHENTICATOR_PATH, access: "account-authenticator", answer: showSetUp },
	{ method: "POST", path: AUTHENTICATOR_PATH, access: "account-authenticator", answer: beginSetUp },
	{
		method: "POST",
		path: `${AUTHENTICATOR_PATH}/confirm`,
		access: "account-authenticator",
		answer: confirmSetUp,
	},
	{ method: "POST", path: `${AUTHENTICATOR_PATH}/off`, access: "account", answer: turnOffAuthenticator },
	{ method: "POST", path: `${AUTHENTICATOR_PATH}/replace`, access: "account", answer: replaceAuthenticator },
];
