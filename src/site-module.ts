// What a module adds to a process that answers people and shops. module.ts has the rest.

import type { ApiTag } from "#core/api/openapi/specification.ts";
import type { DescribedWebhook } from "#core/api/openapi/webhooks.ts";
import type { SignedRoute } from "#core/api/route.ts";
import type { Addition } from "#core/domain/addition.ts";
import type { MenuAdditions } from "#core/web/menu.ts";
import type { Route } from "#core/web/routes.ts";
import type { TokenRoute } from "#modules/token-api/api/route.ts";

export interface SiteModule {
	/** Pages and forms. */
	routes?: readonly Route[];
	menus?: MenuAdditions;
	/** Calls of the signed API. */
	signedCalls?: readonly SignedRoute[];
	/** Calls of the APIs of the network and of partners. */
	calls?: readonly TokenRoute[];
	/** Requests that the module sends to receivers. */
	webhooks?: readonly DescribedWebhook[];
	/** Headings of these calls and requests in the reference. */
	tags?: readonly Addition<ApiTag>[];
}
