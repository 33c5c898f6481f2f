// Everything before a page can be shown: signing in and out, a forgotten password, a one-time link.

import {
	CODE_PATH,
	FORGOT_PASSWORD_PATH,
	SIGN_IN_PATH,
	SIGN_OUT_PATH,
	START_PATH,
	welcomePath,
} from "../paths.ts";
import type { Route } from "../routes.ts";
import { requestLink, showForgotPassword } from "./forgot-password-page.ts";
import { enterCode, leave, showCodeForm, showSignIn, showStart, takeIn } from "./sign-in-page.ts";
import { acceptWelcome, showWelcome } from "./welcome-page.ts";

const WELCOME = welcomePath(":token");

export const SIGN_IN_ROUTES: readonly Route[] = [
	{ method: "GET", path: START_PATH, access: "anyone", answer: showStart },
	{ method: "GET", path: SIGN_IN_PATH, access: "anyone", answer: showSignIn },
	{ method: "POST", path: SIGN_IN_PATH, access: "anyone", answer: takeIn },
	{ method: "GET", path: CODE_PATH, access: "anyone", answer: showCodeForm },
	{ method: "POST", path: CODE_PATH, access: "anyone", answer: enterCode },
	{ method: "POST", path: SIGN_OUT_PATH, access: "anyone", answer: leave },
	{ method: "GET", path: FORGOT_PASSWORD_PATH, access: "anyone", answer: showForgotPassword },
	{ method: "POST", path: FORGOT_PASSWORD_PATH, access: "anyone", answer: requestLink },
	{ method: "GET", path: WELCOME, access: "anyone", answer: showWelcome },
	{ method: "POST", path: WELCOME, access: "anyone", answer: acceptWelcome },
];
