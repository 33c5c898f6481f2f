// Interface by which a module adds pages and calls to a process that answers people and shops. module.ts has its
// other parts.

import type { ApiTag } from "#core/api/openapi/specification.ts";
import type { DescribedWebhook } from "#core/api/openapi/webhooks.ts";
import type { SignedRoute } from "#core/api/route.ts";
import type { Addition } from "#core/domain/addition.ts";
import type { MenuAdditions } from "#core/web/menu.ts";
import type { Route } from "#core/web/routes.ts";
import type { TokenRoute } from "#modules/token-api/api/route.ts";

export interface SiteModule {
	routes?: readonly Route[];
	menus?: MenuAdditions;
	signedCalls?: readonly SignedRoute[];
	calls?: readonly TokenRoute[];
	/** Requests that the module sends to receivers. */
	webhooks?: readonly DescribedWebhook[];
	/** Headings of the module's calls and requests in the API reference. */
	tags?: readonly Addition<ApiTag>[];
}
