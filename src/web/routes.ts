// The type of a route. The table in site.ts lists all of them and puts the guards of its `access` before each answer. No
// page exists outside of the table, so no page is without guards.

import type { PageDeps, WebContext } from "./page.ts";
import type { FileBounds } from "./receive-file.ts";

/**
 * Who may open a page or send a form. Others are redirected to the sign-in, or get 404. People of the programme who lack
 * the right get a page that says so.
 */
export type Access =
	| "anyone"
	/** Everybody who is signed in, with an authenticator if the network requires one. The following need this, too. */
	| "signed-in"
	/** The people of the programme in the address, and staff, with the right in its name: see domain/roles. */
	| "programme"
	| "programme-integrate"
	| "programme-decide"
	| "programme-manage"
	/** The people of the partner in the address, and staff. Only staff may manage a partner. */
	| "partner"
	| "partner-manage"
	| "staff"
	/** Everybody who is signed in, including staff who must still set up their authenticator. */
	| "account-authenticator";

export type Answer = (c: WebContext, deps: PageDeps) => Response | Promise<Response>;

export interface Route {
	/** A form is sent by POST and must come from our own pages. A GET of its address redirects to the nearest page above. */
	method: "GET" | "POST";
	/** A path pattern of Hono, with parameters such as ":programmeId". */
	path: string;
	access: Access;
	answer: Answer;
	/** Limits of a form that may have a file: see receive-file.ts. */
	takesFile?: FileBounds | undefined;
	/** True if the answer waits for another machine, such as a name server. Few of these run at the same time. */
	waitsOutside?: boolean;
}

export function page(path: string, access: Access, answer: Answer): Route {
	return { method: "GET", path, access, answer };
}

export function form(path: string, access: Access, answer: Answer, takesFile?: FileBounds): Route {
	return { method: "POST", path, access, answer, takesFile };
}
