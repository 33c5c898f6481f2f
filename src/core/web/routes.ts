// Defines the type of a route. The core and each module list their routes, and site.ts puts the guards that a route's
// `access` requires before it. All pages are in these lists, so no page lacks guards.

import type { PageDeps, WebContext } from "./page.ts";
import type { FileBounds } from "./receive-file.ts";

/**
 * People who may open a page or send a form. All others are redirected to the sign-in page or get 404. A person of the
 * programme whose role lacks the right gets a page that says so.
 */
export type Access =
	| "anyone"
	/**
	 * Everybody who is signed in and has an authenticator if one is required. All values below, except the
	 * last, also require this.
	 */
	| "signed-in"
	/**
	 * The people of the programme in the address, and staff. The three values below also require the right in
	 * their name (see domain/roles).
	 */
	| "programme"
	| "programme-integrate"
	| "programme-decide"
	| "programme-manage"
	/** The people of the partner in the address, who all have the same rights, and staff. `partner-manage` is only for staff. */
	| "partner"
	| "partner-manage"
	| "staff"
	/** Everybody who is signed in, including staff who must still set up their authenticator. */
	| "account-authenticator";

export type Answer = (c: WebContext, deps: PageDeps) => Response | Promise<Response>;

export interface Route {
	/**
	 * HTTP method. A page is opened by GET. A form is sent by POST and must come from our own pages. If
	 * somebody opens the address of a form, they are redirected to the nearest page above it.
	 */
	method: "GET" | "POST";
	/** Path pattern for Hono, with parameters such as ":programmeId". */
	path: string;
	access: Access;
	answer: Answer;
	/** Limits of the file that the form may upload (see receive-file.ts). */
	takesFile?: FileBounds | undefined;
	/**
	 * True if the response waits for another machine, such as a name server. Only a few such requests run at
	 * the same time. The path of such a page has no parameters.
	 */
	waitsOutside?: boolean;
}

export function page(path: string, access: Access, answer: Answer): Route {
	return { method: "GET", path, access, answer };
}

export function form(path: string, access: Access, answer: Answer, takesFile?: FileBounds): Route {
	return { method: "POST", path, access, answer, takesFile };
}
