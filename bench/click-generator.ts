// Generates clicks on links. Arguments: URL, codes joined by commas, clicks, connections, clicks a second (0
// for as fast as possible).

import { generateLoad } from "./generate-load.ts";

const [url = "", codeList = "", clicks = "", connections = "", perSecond = ""] = process.argv.slice(2);
const BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0";

const requests = codeList.split(",").map((code) => {
	const head = `GET /c/${code}?s1=bench HTTP/1.1\r\nHost: ${new URL(url).host}\r\nUser-Agent: ${BROWSER}\r\n`;
	return Buffer.from(`${head}Accept: text/html\r\nSec-Fetch-Dest: document\r\n\r\n`);
});
await generateLoad({
	url,
	requests: Number(clicks),
	connections: Number(connections),
	perSecond: Number(perSecond),
	requestAt: (number) => requests[number % requests.length] ?? Buffer.alloc(0),
});
