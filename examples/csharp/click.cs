// Keeps the click ID of a partner's link, behind your TLS proxy (which names 127.0.0.1 in Host).
// .NET 10: PORT=3000 dotnet run click.cs
// Mono: mcs click.cs && PORT=3000 mono click.exe
// In production: the same two steps in ASP.NET Core.
using System;
using System.Net;
using System.Text;
using System.Text.RegularExpressions;

static class Click
{
    const string Cookie = "Path=/; Max-Age=2592000; HttpOnly; Secure; SameSite=Lax";

    static string Find(string pattern, string text)
    {
        Match found = Regex.Match(text ?? "", pattern, RegexOptions.ECMAScript);
        return found.Success ? found.Groups[1].Value : null;
    }

    static void Main()
    {
        var listener = new HttpListener();
        string port = Environment.GetEnvironmentVariable("PORT") ?? "3000";
        listener.Prefixes.Add($"http://127.0.0.1:{port}/");
        listener.Start();
        while (true)
        {
            HttpListenerContext context = listener.GetContext();
            // On every page: keep the click ID, if the visitor comes by a partner's link.
            string target = context.Request.RawUrl;
            string clicked = Find(@"[?&]rbclick=([\w.-]{1,400})(?:&|$)", target);
            if (clicked != null)
                context.Response.AddHeader("Set-Cookie", $"rbclick={clicked}; {Cookie}");

            // At the checkout: send it with the signed sale, as "clickId" beside "orderId".
            string kept = Find(@"(?:^|; *)rbclick=([\w.-]+)", context.Request.Headers["Cookie"]);
            string clickId = clicked ?? kept;
            byte[] page = Encoding.UTF8.GetBytes($"clickId: {clickId ?? "none"}\n");
            context.Response.OutputStream.Write(page, 0, page.Length);
            context.Response.Close();
        }
    }
}
