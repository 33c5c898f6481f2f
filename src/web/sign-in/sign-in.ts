// Everything before a page can be shown: signing in and out, a forgotten password, an invitation.

import type { Hono } from "hono";
import { signOut } from "../../accounts/sign-in.ts";
import type { WebDeps } from "../deps.ts";
import type { WebEnv } from "../env.ts";
import { handOnCookies } from "../session.ts";
import { mountCodePage } from "./code-page.ts";
import { mountForgotPasswordPage } from "./forgot-password-page.ts";
import { mountSignInPage } from "./sign-in-page.ts";
import { mountWelcomePage } from "./welcome-page.ts";

export function mountSignIn(site: Hono<WebEnv>, deps: WebDeps): void {
	mountSignInPage(site, deps);
	mountCodePage(site, deps);
	mountForgotPasswordPage(site, deps);
	mountWelcomePage(site, deps);
	site.post("/sign-out", async (c) => {
		const viewer = c.get("viewer");
		if (viewer !== null) handOnCookies(c, await signOut(deps, viewer.personId, c.get("visitor")));
		return c.redirect("/sign-in", 303);
	});
}
