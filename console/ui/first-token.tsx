// Says where the first admin token is. It is true of every server: the console does not know how this one was started.

export const FirstToken = () => (
  <>
    The first admin token was shown on the terminal where the server was started. Without a
    terminal, as in a container or a service, it is in the file <code>admin-token</code> of the data
    folder; what the server printed then says where. If <code>RESTANTE_ADMIN_TOKEN</code> was set,
    it is that one.
  </>
);
