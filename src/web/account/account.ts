// A person's own account: their password, where they are signed in, their authenticator.

import type { Hono } from "hono";
import type { WebDeps } from "../deps.ts";
import type { WebEnv } from "../env.ts";
import { showAccount } from "./account-page.ts";
import { mountAuthenticator } from "./authenticator-page.ts";
import { mountEnterPassword } from "./enter-password-page.ts";
import { mountPassword } from "./password.ts";
import { mountSessions } from "./sessions.ts";

export function mountAccount(site: Hono<WebEnv>, deps: WebDeps): void {
	site.get("/account", (c) => showAccount(c, deps));
	mountEnterPassword(site, deps);
	mountPassword(site, deps);
	mountSessions(site, deps);
	mountAuthenticator(site, deps);
}
