// For Express 4 and 5: app.use("/postback", createExpressReceiver({ … })), before express.json().
// Behind express.json() the signed bytes are gone: it then answers 500 and says so in the log. express.raw()
// does no harm, nor does a router: the path is read from `originalUrl`.

import { openReceiver, type Receiver, type ReceiverSource } from "../receiver.ts";

export function createExpressReceiver(source: ReceiverSource): Receiver["node"] {
	return openReceiver(source).node;
}
